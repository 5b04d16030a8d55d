import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { readEvents } from "../../../src/api/sse.ts";
import { checkStart } from "../../../src/follow/open-stream.ts";
import { CliError } from "../../../src/errors.ts";
import { pipe } from "../../../src/lib/pipe.ts";
import { exchanges, streamed } from "../../lib/recordings.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import {
  eventsText,
  json,
  pinging,
  recorded,
  runServer,
  sleptTime,
  streaming,
} from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";

const env = { KB_APP_KEY: "app-x" };

/** A start rejected in the stream, as in version 1.14.2: an event without a run, then pings. */
const byEvent: Route = pinging(
  eventsText({ event: "error", message: "Invalid upload file", status: 500 }),
);
/** The same in version 1.15.0: a run that fails at once and was never stored. */
const ghost = recorded("1.15/start-refused.json: unknown file, streaming");
const ghostId = "2ddc0e14-3f11-402f-a9ed-634c18f74f5d";

const lines = [
  "",
  "-o json",
  "-o jsonl",
  "-o name",
  "--text",
  "--only-output x",
  "--detach",
  "--detach -o name",
];

describe.each([
  ["by an error event", byEvent],
  ["by a run that was never stored", streaming(ghost)],
])("a start that the server rejects %s", (_, start) => {
  test.each(lines)("exits with 5 and the message of the server: %s", async (line) => {
    const flags = line.split(" ").filter(Boolean);
    const server = await runServer({ "POST /v1/workflows/run": start });
    const ran = await cli(["wf", "run", "--inputs", "{}", ...flags], {
      env: { ...env, KB_BASE_URL: server.baseUrl },
    });
    expect(ran.exit, ran.err).toBe(5);
    expect(ran.out).toBe("");
    expect(ran.err).toContain("failed to start the run: Invalid upload file");
    expect(ran.err).not.toMatch(/some changes were made|unknown|"changed":"(?!nothing)/);
    expect(ran.err).not.toMatch(new RegExp(`${ghostId}|wf show|wf events|wf logs`));
    expect(server.requests.filter((line) => !line.includes("/parameters"))).toHaveLength(1);
  });

  test("is a failed row of --each, collected for a retry", async () => {
    const server = await runServer({ "POST /v1/workflows/run": start });
    const folder = await temporaryDirectory();
    const [rows, failed] = [join(folder, "rows.jsonl"), join(folder, "failed.jsonl")];
    await writeFile(rows, "{}\n{}\n");
    const ran = await cli(["wf", "run", "--each", rows, "--errors-to", failed, "-o", "jsonl"], {
      env: { ...env, KB_BASE_URL: server.baseUrl },
    });
    expect(ran.exit, ran.err).toBe(10);
    const results = ran.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(results).toEqual(
      [1, 2].map((row) =>
        expect.objectContaining({
          row,
          status: "failed",
          run: null,
          error: expect.stringContaining("Invalid upload file") as unknown,
        }),
      ),
    );
    expect(await readFile(failed, "utf8")).toBe("{}\n{}\n");
    expect(ran.err).not.toContain("may still be running");
  });
});

test.each([
  ["an error event", eventsText({ event: "error", message: "Invalid upload file", status: 500 })],
  ["a run never stored", recorded("1.15/start-refused.json: chat: unknown file, streaming")],
])("wf chat send: a message rejected by %s exits with 5", async (_, text) => {
  const server = await runServer({ "POST /v1/chat-messages": streaming(text) });
  const ran = await cli(["wf", "chat", "send", "Hi"], {
    env: { ...env, KB_BASE_URL: server.baseUrl },
  });
  expect(ran.exit, ran.err).toBe(5);
  expect(ran.err).toContain("Invalid upload file");
  expect(ran.out).toBe("");
});

test("looks for a run that may not exist if its stream is lost", async () => {
  const named = `${ghost.split("\n\n")[1] ?? ""}\n\n`;
  expect(named).toContain("workflow_started");
  const server = await runServer({
    "POST /v1/workflows/run": streaming(named),
    "GET /v1/workflows/run/": json({ code: "not_found", message: "gone", status: 404 }, 404),
  });
  const ran = await cli(["wf", "run", "--inputs", "{}"], {
    env: { ...env, KB_BASE_URL: server.baseUrl },
    around: sleptTime().around,
  });
  expect(ran.exit, ran.err).toBe(3);
});

test.each(["json", "md", "csv", "yaml", "name"])(
  "an ID that is not valid Unicode is an error, not a crash: -o %s",
  async (format) => {
    const start = eventsText(
      { event: "workflow_started", workflow_run_id: "r1\ud800", task_id: "t", data: { id: "r1" } },
      {
        event: "workflow_finished",
        workflow_run_id: "r1\ud800",
        task_id: "t",
        data: { id: "r1", status: "succeeded", outputs: {}, total_steps: 1 },
      },
    );
    const server = await runServer({ "POST /v1/workflows/run": streaming(start) });
    const ran = await cli(["wf", "run", "--inputs", "{}", "-o", format], {
      env: { ...env, KB_BASE_URL: server.baseUrl },
    });
    expect(ran.exit, ran.err).toBe(1);
    expect(ran.err).toMatch(/invalid workflow_run_id \\*"r1\\+ud800\\*": it is not valid Unicode/);
  },
);

test("of all recorded starts, detects exactly the rejected ones", async () => {
  const refused: string[] = [];
  for (const each of exchanges.filter(({ request }) => request?.method === "POST")) {
    const pieces = each.response.chunks?.map(([, text]) => Buffer.from(text)) ?? [];
    if (!streamed(each)) continue;
    try {
      for await (const _ of pipe(readEvents(Readable.from(pieces)), checkStart()));
    } catch (error) {
      if (error instanceof CliError && error.kind === "refused") refused.push(each.name);
    }
  }
  expect(refused).toEqual(
    [
      "unknown file, streaming",
      "required input missing, streaming",
      "choice not in the list, streaming",
      "chat: unknown file, streaming",
    ]
      .map((title) => `1.15/start-refused.json: ${title}`)
      .concat(
        ["streaming, unknown file", "kind not offered", "chatflow"].map(
          (title) => `1.16/wf-start-refused.json: ${title}`,
        ),
      ),
  );
});
