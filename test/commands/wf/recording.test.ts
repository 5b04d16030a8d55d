import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Files } from "../../../src/host/host.ts";
import { diskFiles } from "../../../src/host/node-files.ts";
import { valueAt } from "../../../src/lib/json.ts";
import { runs } from "../../lib/following.ts";
import { playedRun, recordedRun } from "../../lib/played-run.ts";
import type { Played } from "../../lib/played-run.ts";
import { recordedFile, timedEvents } from "../../lib/recorded-file.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const home = await temporaryDirectory();
let number = 0;
const newPath = () => join(home, `${++number}.jsonl`);
const nowhere = { KB_BASE_URL: "http://127.0.0.1:1/v1", KB_APP_KEY: "app-x" };

/** Follows a recorded run and records it; each reading of the clock is 10 ms later. */
async function recording(run: readonly Played[], flags: readonly string[] = [], world: World = {}) {
  const server = await playedRun(run, []);
  const path = newPath();
  let now = Date.parse("2026-11-21T12:00:00Z");
  const id = String(run[0]?.data["workflow_run_id"]);
  const ran = await cli(["wf", "events", id, "--record", path, ...flags], {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
    now: () => new Date((now += 10)),
    ...world,
  });
  return { ...ran, path, text: await readFile(path, "utf8").catch(() => undefined) };
}

const linesOf = (text = "") => text.trimEnd().split("\n");

/** The run with one text replaced by another everywhere in its JSON. */
const changed = (run: readonly Played[], from: string, to: string): readonly Played[] => {
  expect(run.some(({ raw }) => raw.includes(from))).toBe(true);
  return run.map(({ event, raw }) => {
    const text = raw.replace(from, to);
    return { event, raw: text, data: JSON.parse(text) as Record<string, unknown> };
  });
};

describe("a recording", () => {
  const run = recordedRun("run that fails, streaming");

  test("has a head, each event in the server's own text with its time, and the end", async () => {
    const { text, exit } = await recording(run);
    expect(exit).toBe(9);
    const [head = "", ...rest] = linesOf(text);
    expect(JSON.parse(head)).toEqual({
      recording: 1,
      program: "wf 0.3.0",
      started_at: expect.stringMatching(/^2026-11-21T12:00:00\.\d{3}Z$/) as string,
    });
    expect(rest.at(-1)).toBe('{"end":{"exit":9,"why":"failed"}}');
    const events = rest.slice(0, -1);
    expect(events.map((line) => line.replace(/^\{"at":\d+,"event":|\}$/g, ""))).toEqual(
      run.map(({ raw }) => raw),
    );
    expect(events[0]).toMatch(/^\{"at":0,/);
  });

  test.each([
    ["run, streaming", '{"end":{"exit":0,"why":"succeeded"}}'],
    ["run with human input, streaming: ends at the pause", '{"end":{"exit":8,"why":"paused"}}'],
  ])("%s ends with %s", async (title, end) => {
    expect(linesOf((await recording(recordedRun(title))).text).at(-1)).toBe(end);
  });

  test("of wf run holds what is printed", async () => {
    const sandbox = await testSandbox();
    const path = join(home, "folders", "are", "made.jsonl");
    const flags = ["--input", "query=x", "--record", path, "-o", "jsonl"];
    const ran = await sandbox.cli(["wf", "--app", "loop", "run", ...flags]);
    expect(ran.exit, ran.err).toBe(0);
    const events = linesOf(await readFile(path, "utf8")).slice(1, -1);
    expect(events.map((line) => line.replace(/^\{"at":\d+,"event":|\}$/g, ""))).toEqual(
      linesOf(ran.out),
    );
  });

  test.each([
    [["--record", join(home, "there.jsonl")], "there.jsonl already exists"],
    [["--record", "-"], "is not the path of a file"],
    [["--redact"], "--redact requires --record"],
    [["--record", join(home, "there.jsonl", "below")], "file already exists"],
  ])("rejects %j before sending anything", async (flags, message) => {
    await writeFile(join(home, "there.jsonl"), "kept");
    const ran = await cli(["wf", "events", "00000000-0000-4000-8000-000000000000", ...flags], {
      env: nowhere,
    });
    expect(ran.exit, ran.err).toBe(2);
    expect(ran.err).toContain(message);
    expect(await readFile(join(home, "there.jsonl"), "utf8")).toBe("kept");
  });

  test("cannot hold several runs", async () => {
    const ids = [1, 2].map((last) => `00000000-0000-4000-8000-00000000000${last}`);
    const ran = await cli(["wf", "events", ...ids, "--record", newPath()], { env: nowhere });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("--record takes a single run");
  });

  test("of a run without events leaves no file", async () => {
    const folder = join(home, "empty");
    const path = join(folder, "none.jsonl");
    const id = "00000000-0000-4000-8000-000000000000";
    const ran = await cli(["wf", "events", id, "--record", path, "--retries", "0"], {
      env: nowhere,
    });
    expect(ran.exit).toBe(11);
    expect(await readdir(folder)).toEqual([]);
  });

  test("ends with complete lines after an interrupt, the last of which names it", async () => {
    const interrupt = new AbortController();
    const run = recordedRun("slow run, streaming, a node takes 6 s").slice(0, 4);
    const { exit, text } = await recording(run, ["--follow"], {
      signal: interrupt.signal,
      onOutput: (out) => {
        if (out.includes("node_started")) interrupt.abort("SIGINT");
      },
    });
    expect(exit).toBe(130);
    const lines = linesOf(text);
    for (const line of lines) JSON.parse(line);
    expect(lines.at(-1)).toBe('{"end":{"exit":130,"why":"interrupted"}}');
  });

  /** A disk that takes so many characters of a recording. */
  const diskWith = (room: number): Partial<Files> => ({
    async create(path) {
      const file = await diskFiles.create(path);
      return {
        ...file,
        async write(text) {
          await file.write(text.slice(0, room));
          room = Math.max(0, room - text.length);
          if (room === 0) throw Object.assign(new Error("no room"), { code: "ENOSPC" });
        },
      };
    },
  });

  test("on a disk that takes nothing leaves no file, and claims none", async () => {
    const files = diskWith(0);
    const ran = await recording(recordedRun("run, streaming"), [], { files });
    expect(ran).toMatchObject({ exit: 1, text: undefined });
    expect(ran.err).toContain("hint: the run itself continued; nothing was recorded\n");
  });

  test.each([
    ["run, streaming", 1, /incomplete recording: .*disk full[^]*the recorded part can be used/],
    ["run that fails, streaming", 9, /run \S+ failed/],
  ])("%s on a full disk is followed to its end, which is %d", async (title, exit, message) => {
    const files = diskWith(2000);
    const ran = await recording(recordedRun(title), ["-o", "jsonl"], { files });
    expect(ran.exit, ran.err).toBe(exit);
    expect(ran.err).toMatch(message);
    expect(ran.err).toContain("disk full; following the run without recording");
    expect(linesOf(ran.out)).toHaveLength(recordedRun(title).length);
    expect(ran.text).toHaveLength(2000);
    const replayed = await cli(["wf", "replay", ran.path, "-o", "jsonl"]);
    expect(replayed.exit).toBe(13);
    expect(ran.out.startsWith(replayed.out)).toBe(true);
  });
});

describe("credentials are masked", () => {
  const run = recordedRun("slow run, streaming, a node takes 6 s");
  test.each([
    [
      '{"request":"GET / HTTP/1.1\\r\\nAuthorization: abc def\\r\\nX-Api-Key:k\\r\\nAccept: */*\\r\\n"}',
      '{"request":"GET / HTTP/1.1\\r\\nAuthorization: ***\\r\\nX-Api-Key:***\\r\\nAccept: */*\\r\\n"}',
    ],
    [
      '{"headers":{"Set-Cookie":"a=b","server":"x"}}',
      '{"headers":{"Set-Cookie":"***","server":"x"}}',
    ],
    ['{"note":"it wants Bearer abc123def456, always"}', '{"note":"it wants Bearer ***, always"}'],
    ['{"note":"key app-AbCdEfGhIjKlMn12 here"}', '{"note":"key app-*** here"}'],
    ['{"note":"dataset-0123456789abcdef"}', '{"note":"dataset-***"}'],
    [
      '{"url":"http://x/f?timestamp=1&nonce=2&sign=abc%3D#p"}',
      '{"url":"http://x/f?timestamp=1&nonce=2&sign=***#p"}',
    ],
    ['{"url":"https://ann:pw@host/path"}', '{"url":"https://***@host/path"}'],
    [
      '{"list":[{"api_key":"x"},{"db_password":"y"},3]}',
      '{"list":[{"api_key":"***"},{"db_password":"***"},3]}',
    ],
    // Similar texts stay, down to the blanks.
    ['{"note":"app-definitions and bearer bonds: basic understanding, no secret"}', undefined],
    ['{"note": "dataset-administration"}', undefined],
    ['{"__proto__":{"token":1},"sign":"x","n":1.0}', undefined],
  ])("%s", async (given, written = given) => {
    const { text } = await recording(changed(run, '"process_data":{}', `"process_data":${given}`));
    expect(text).toContain(`"process_data":${written}`);
  });

  test("except in other fields that only contain similar words", async () => {
    const { text } = await recording(
      changed(run, '"body":"slow body"', '"body":"Cookie: a biscuit"'),
    );
    expect(text).toContain('"body":"Cookie: a biscuit"');
  });
});

describe("--redact", () => {
  const isFetch = (data: unknown) => (data as { title?: unknown }).title === "Fetch";

  test("keeps the server's own values and the lengths of all others", async () => {
    const { text } = await recording(recordedRun("slow run, streaming, a node takes 6 s"), [
      "--redact",
    ]);
    const lines = linesOf(text);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ redacted: true });
    const finished = lines
      .map((line) => (JSON.parse(line) as { event?: Played["data"] }).event)
      .find((event) => event?.["event"] === "node_finished" && isFetch(event["data"]));
    expect(finished).toEqual({
      event: "node_finished",
      workflow_run_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      task_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      data: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        node_id: "f",
        node_type: "http-request",
        title: "Fetch",
        index: 1,
        predecessor_node_id: null,
        inputs: {},
        inputs_truncated: false,
        process_data: { request: "<48 characters>" },
        process_data_truncated: false,
        outputs: {
          status_code: "<number>",
          body: "<9 characters>",
          headers: {
            server: "<26 characters>",
            date: "<29 characters>",
            "content-length": "<1 character>",
          },
          files: [],
        },
        outputs_truncated: false,
        status: "succeeded",
        error: null,
        elapsed_time: expect.any(Number) as number,
        execution_metadata: null,
        created_at: expect.any(Number) as number,
        finished_at: expect.any(Number) as number,
        files: [],
        iteration_id: null,
        loop_id: null,
      },
    });
  });

  /** Fields with texts of users and models. */
  const personal =
    /^(inputs|outputs|process_data|text|answer|error|form_content|rendered_content|submitted_data|resolved_default_values|form_token|user|pre_loop_output|loop_variable_map|files)$/;
  function* textsIn(value: unknown, own = false): Generator<string> {
    if (typeof value === "string" && own) yield value;
    if (typeof value !== "object" || value === null) return;
    for (const [key, each] of Object.entries(value))
      yield* textsIn(each, own || personal.test(key));
  }

  test.each(runs)(
    "%s: removes all texts of users and models and keeps the timeline",
    async (title, flags) => {
      const run = recordedRun(title);
      const [plain, redacted] = [
        await recording(run, flags),
        await recording(run, [...flags, "--redact"]),
      ];
      const left = linesOf(redacted.text).flatMap((line) => [...textsIn(JSON.parse(line))]);
      expect(left.filter((text) => !/^(<\d+ characters?>|<number>)?$/.test(text))).toEqual([]);
      const titles = new Set(run.map(({ data }) => valueAt(data, "data.title")));
      const sentences = run
        .flatMap(({ data }) => [...textsIn(data)])
        .filter((text) => text.includes(" ") && !titles.has(text));
      const quoted = sentences.map((text) => JSON.stringify(text).slice(1, -1));
      expect(quoted.filter((text) => redacted.text?.includes(text))).toEqual([]);
      // The clock of these tests advances with each reading, and errors are texts.
      const timeline = async (path: string) =>
        (await cli(["wf", "timeline", path, "-o", "json"])).out
          .replaceAll(/"error":("(\\.|[^"])*"|null)/g, "")
          .replaceAll(/"(started_at|\w+_ms)":("[^"]*"|[\d.]+)/g, "");
      expect(await timeline(redacted.path)).toBe(await timeline(plain.path));
    },
  );
});

describe("reading", () => {
  const title = "run that fails, streaming";
  const raws = timedEvents(title).map(([, raw]) => raw);
  const wf = (argv: readonly string[], world?: World) => cli(["wf", ...argv], world);
  const fileWith = async (text: string) => {
    const path = newPath();
    await writeFile(path, text);
    return path;
  };

  test("reports the first five damaged lines and uses the rest", async () => {
    const path = await recordedFile(newPath(), title);
    const lines = linesOf(await readFile(path, "utf8"));
    const damaged = ["{", "[1]", '{"at":1}', '{"event":{"event":1}}', "null", "x", "\u0000"];
    await writeFile(path, [lines[0], ...damaged, "", ...lines.slice(1)].join("\r\n"));
    const ran = await wf(["replay", path, "-o", "jsonl"]);
    expect(ran.exit).toBe(9);
    expect(linesOf(ran.out)).toEqual(raws);
    expect(linesOf(ran.err).slice(0, 6)).toEqual([
      `${path} line 2: invalid JSON; skipped`,
      `${path} line 3: not an event; skipped`,
      `${path} line 4: not an event; skipped`,
      `${path} line 5: not an event; skipped`,
      `${path} line 6: not an event; skipped`,
      `${path}: skipped 7 damaged lines`,
    ]);
  });

  test("reads the output of wf events -o jsonl too, also from stdin", async () => {
    const stdin = raws.join("\n");
    const ran = await wf(["replay", "-", "-o", "jsonl"], { stdin });
    expect(ran.exit).toBe(9);
    expect(linesOf(ran.out)).toEqual(raws);
  });

  test("reads the event of a line with additional fields", async () => {
    const [, first = ""] = raws;
    const path = await fileWith(`{"at":3,"event":${first},"note":"by hand"}\n`);
    expect((await wf(["replay", path, "-o", "jsonl"])).out).toBe(`${first}\n`);
  });

  test.each<[string, string | undefined, string]>([
    ["no file", undefined, "file not found"],
    ["nothing", "", "no events found"],
    ["only a head", '{"recording":1}\n', "no events found"],
    ["other JSON", '{"a":1}\n', "line 1: not an event; the file is not a recording of a run"],
    ["text", `${"hello\n".repeat(100)}`, "line 1: invalid JSON; the file is not a recording"],
    ["a JSON array", `[${raws.join(",\n")}]`, "line 1: invalid JSON"],
    ["a later version", '{"recording":2}\n', "unsupported recording version 2 (expected 1)"],
  ])("rejects %s", async (name, content, message) => {
    const path = content === undefined ? join(home, "missing.jsonl") : await fileWith(content);
    const ran = await wf(["replay", path]);
    expect(ran.exit, name).toBe(2);
    expect(ran.err).toContain(message);
    expect(linesOf(ran.err)).toHaveLength(2);
  });

  test("rejects a directory", async () => {
    const ran = await wf(["timeline", home]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("is a directory");
  });

  test("replays events of several runs, but rejects them for a timeline", async () => {
    const other = timedEvents("run, streaming").map(([, raw]) => raw);
    const path = await fileWith([...raws, ...other].join("\n"));
    expect((await wf(["replay", path, "-o", "jsonl"])).exit).toBe(0);
    const ran = await wf(["timeline", path]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("contains events of several runs");
  });

  test("uses all complete lines of a file truncated at any byte", async () => {
    const path = await recordedFile(newPath(), title);
    const bytes = await readFile(path);
    const cut = newPath();
    for (let size = 1; size < bytes.length; size += 97) {
      await writeFile(cut, bytes.subarray(0, size));
      const whole = bytes.subarray(0, size).toString().split("\n").length - 2;
      const ran = await wf(["replay", cut, "-o", "jsonl"]);
      expect(ran.exit).toBe(whole < 1 ? 2 : 13);
      if (whole > 0) expect(linesOf(ran.out)).toEqual(raws.slice(0, whole));
    }
  });

  rareTest("shows or rejects any file", async () => {
    const { readsAnything } = await import("../../lib/damaged-files.ts");
    await readsAnything(60, 7);
  });
});
