import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { HttpResponse } from "../../src/api/exchange.ts";
import { bodyReader } from "../../src/api/response.ts";
import { collect } from "../../src/lib/collect.ts";
import { events } from "../../src/operations/returns.ts";
import { against, endless, http, say } from "../lib/raw-server.ts";

const run = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const event = (kind: string, data: string) =>
  `data: {"event":"${kind}","workflow_run_id":"${run}","task_id":"t","data":${data}}\n\n`;
const started = event("workflow_started", `{"id":"${run}"}`);
const finished = event("workflow_finished", `{"id":"${run}","status":"succeeded","outputs":{}}`);
const deep = event("text_chunk", `${"[".repeat(100_000)}${"]".repeat(100_000)}`);

/** Responses of a server whose run is still running after the first stream and ends in the next. */
const parameters = say(http(200, '{"user_input_form":[],"file_upload":{}}'));
const running = say(http(200, `{"id":"${run}","status":"running","outputs":{},"error":null}`));
const rest = say(head, started, finished);

const ways = [
  ["wf events --follow", ["wf", "events", run, "--follow", "-o", "jsonl"], []],
  ["wf run", ["wf", "run", "-o", "jsonl"], [parameters]],
] as const;
const kinds = (out: string) =>
  out.split("\n").flatMap((line) => /^\{"event":"(\w+)"/.exec(line)?.[1] ?? []);
const posts = (requests: readonly string[]) =>
  requests.filter((line) => line.startsWith("POST")).length;

describe.each(ways)("%s", (name, line, before) => {
  test.each<[string, (socket: Socket) => void]>([
    ["is cut after an event", say(head, started)],
    ["is cut inside an event", say(head, started, finished.slice(0, 40))],
    [
      "is cut inside a character",
      say(head, started, event("text_chunk", '"').slice(0, -5), Uint8Array.of(0xe2, 0x82)),
    ],
    ["is reset", (socket) => void socket.write(head + started, () => socket.resetAndDestroy())],
    ["contains lines that are not events", say(head, started, "\u0000\u0001<html>\n\n: ping\n\n")],
  ])("a stream that %s is resumed, and nothing is started or printed twice", async (_, respond) => {
    const ran = await against([...before, respond, running, rest], line);
    expect(ran.exit, ran.err).toBe(0);
    expect(kinds(ran.out)).toEqual(["workflow_started", "_gap", "workflow_finished"]);
    expect(posts(ran.requests)).toBe(name === "wf run" ? 1 : 0);
  });

  test.each([
    ["not JSON", "data: {not\n\n"],
    ["a value that JSON lacks", "data: undefined\n\n"],
  ])(
    "an event that is %s exits with 1, and the hint states that the run continues",
    async (_, bad) => {
      const ran = await against([...before, say(head, started, bad)], line);
      expect(ran.exit).toBe(1);
      expect(kinds(ran.out)).toEqual(["workflow_started"]);
      expect(ran.err).toContain("event is not JSON");
      expect(ran.err).toContain(`the run continues; run \`wf events ${run} --follow\``);
      expect(ran.requests).toHaveLength(before.length + 1);
    },
  );

  test("JSON without fields is skipped, and told with -v", async () => {
    const others = ["null", "[1]", "[]", "7", '"x"', "true", " null "];
    const skipped = others.map((data) => `data: ${data}\n\n`);
    const ran = await against(
      [...before, say(head, ...skipped, started, ...skipped, finished)],
      line,
    );
    expect(ran, ran.err).toMatchObject({ exit: 0 });
    expect(kinds(ran.out)).toEqual(["workflow_started", "workflow_finished"]);
    const told = await against(
      [...before, say(head, started, "data: null\n\n", finished)],
      [...line, "-v"],
    );
    expect(told.err).toContain("skipped an event without fields: null\n");
  });

  test.each(["text/plain", "text/plain; charset=utf-8", "application/octet-stream", "text/html"])(
    "a stream that is declared as %s is read",
    async (type) => {
      const other = head.replace("text/event-stream", type);
      for (const first of [
        "",
        ": ping\n\n",
        "event: ping\n\n",
        "\uFEFF",
        "id: 1\n",
        "retry: 9\n\n",
      ]) {
        const ran = await against([...before, say(other + first, started, finished)], line);
        expect(ran, ran.err).toMatchObject({ exit: 0 });
        expect(kinds(ran.out)).toEqual(["workflow_started", "workflow_finished"]);
      }
    },
  );

  test.each(["", ": ping\n\n", "event: ping\n\n", "\uFEFF", "\r\n\nid: 1\n", "retry: 9\n\n"])(
    "a stream of another type whose start %j arrives byte by byte is read",
    async (first) => {
      const other = head.replace("text/event-stream", "text/plain\r\ntransfer-encoding: chunked");
      const bytes = [...Buffer.from(first + started + finished)].flatMap((byte) => [
        "1\r\n",
        Uint8Array.of(byte),
        "\r\n",
      ]);
      const ran = await against([...before, say(other, ...bytes, "0\r\n\r\n")], line);
      expect(ran, ran.err).toMatchObject({ exit: 0 });
      expect(kinds(ran.out)).toEqual(["workflow_started", "workflow_finished"]);
    },
  );

  test.each(["<html>data: x</html>", "no data: x\n\n", "dat", "datax: x\n\n", '{"data": 1}', ""])(
    "the response %j of another type is refused",
    async (text) => {
      const other = head.replace("text/event-stream", "text/plain");
      const ran = await against([...before, say(other + text)], line);
      expect(ran.exit, ran.err).not.toBe(0);
      expect(ran.err).toMatch(/expected an event stream|not an API endpoint/);
    },
  );

  test("an event nested 100,000 levels deep is printed", async () => {
    const ran = await against([...before, say(head, started, deep, finished)], line);
    expect(ran.exit, ran.err).toBe(0);
    expect(kinds(ran.out)).toEqual(["workflow_started", "text_chunk", "workflow_finished"]);
  });

  test("an endless line is read up to a limit only", async () => {
    const { answer, counted } = endless(`${head}${started}data: `);
    const ran = await against([...before, answer], line);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("event larger than 64 MiB");
    expect(ran.err).toContain("the run continues");
    expect(counted.bytes).toBeLessThan(200 * 2 ** 20);
  });
});

test("if the first event is invalid, the hint is to check the run before starting it again", async () => {
  const ran = await against([parameters, say(head, "data: {not\n\n")], ["wf", "run"]);
  expect(ran).toMatchObject({ exit: 1, requests: { length: 2 } });
  expect(ran.err).toContain("before starting it again");
});

test("a stream of another type whose body comes in single bytes is read whole", async () => {
  const text = started;
  async function* body() {
    for (const byte of Buffer.from(text)) yield Uint8Array.of(byte);
  }
  const response = { headers: { "content-type": "text/plain" }, body: body() };
  const read = await bodyReader(events)(response as unknown as HttpResponse);
  const pieces = await collect(read as AsyncIterable<Uint8Array>);
  expect(Buffer.concat(pieces).toString()).toBe(text);
});
