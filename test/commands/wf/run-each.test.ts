import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import type { ReceivedRequest } from "../../../src/sandbox/http/server.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";

const seen: ReceivedRequest[] = [];
let onRequest = () => {};
const server = await testSandbox({
  onRequest: (request) => {
    seen.push(request);
    onRequest();
  },
});
const home = await temporaryDirectory();
beforeEach(() => {
  server.sandbox.setFaults([]);
  onRequest = () => {};
  seen.length = 0;
});

const file = async (name: string, text: string): Promise<string> => {
  const path = join(home, name);
  await writeFile(path, text);
  return path;
};
const textOf = (path: string) => readFile(path, "utf8");

const each = (app: string, path: string, argv: readonly string[] = [], world: World = {}) =>
  server.cli(["wf", "--app", app, "run", "--each", path, ...argv], { folder: home, ...world });

interface Result {
  readonly row: number;
  readonly status: string;
  readonly run: string | null;
  readonly outputs: unknown;
  readonly error: string | null;
}
const lines = (out: string): Result[] =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Result);

const starts = () => seen.filter(({ method, path }) => method === "POST" && path.endsWith("/run"));
const bodies = () =>
  starts().map(
    ({ body }) =>
      JSON.parse(new TextDecoder().decode(body)) as { inputs: unknown; files?: unknown },
  );

const six = await file("six.csv", "query\na\nb\nc\nd\ne\nf\n");

describe("a fatal error stops it, and every row has a result", () => {
  test.each([
    [401, 4],
    [403, 4],
  ])("HTTP status %i", async (status, exit) => {
    server.sandbox.setFaults([parseFault(`POST /workflows/run status=${status} skip=2 times=1`)]);
    const rest = join(home, "rest.csv");
    const flags = ["--concurrency", "1", "--errors-to", rest, "-o", "jsonl"];
    const folder = await temporaryDirectory(); // without a run to resume
    const ran = await each("echo", six, flags, { folder });
    expect(ran.exit, ran.err).toBe(exit);
    const rows = lines(ran.out);
    expect(rows.map((row) => row.status)).toEqual([
      "succeeded",
      "succeeded",
      "not started",
      "not started",
      "not started",
      "not started",
    ]);
    expect(rows[2]?.error).toContain("failed to run workflow");
    expect(rows[3]?.error).toBeNull();
    expect(starts()).toHaveLength(3);
    expect(await textOf(rest)).toBe("query\nc\nd\ne\nf\n");
    expect(ran.err).toContain("2 of 6 rows done, 1 failed, 3 not sent");
    expect(ran.err).toContain(rest);
  });

  test("runs in progress are reported too, in every format", async () => {
    server.sandbox.setFaults([parseFault("POST /workflows/run status=401 skip=1 times=1")]);
    const ran = await each("slow", six, ["--input", "seconds=1", "-o", "json"]);
    expect(ran.exit, ran.err).toBe(4);
    const rows = JSON.parse(ran.out) as Result[];
    expect(rows.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5, 6]);
    const ended = rows.filter(({ status }) => status === "succeeded");
    expect(ended).toHaveLength(starts().length - 1);
    expect(rows.filter(({ status }) => status === "not started")).toHaveLength(6 - ended.length);
  });

  test.each<[string, number]>([
    ["--timeout", 12],
    ["SIGINT", 130],
  ])("%s", async (what, exit) => {
    const rest = join(home, "late.csv");
    const mixed = await file("mixed.csv", "query,seconds\na,0\nb,600\nc,0\n");
    const interrupt = new AbortController();
    let late = () => {};
    const passed = new Promise<void>((resolve) => (late = resolve));
    onRequest = () => {
      if (starts().length < 2) return;
      if (what === "SIGINT") interrupt.abort(what);
      else late();
    };
    const flags = ["--concurrency", "1", "--errors-to", rest, "-o", "json"];
    const ran = await each("slow", mixed, [...flags, "--timeout", "4s"], {
      folder: await temporaryDirectory(), // without a run to resume
      signal: interrupt.signal,
      around: (host) => ({
        ...host,
        // The deadline passes exactly when the second run has started.
        sleep: (ms, signal) => (ms === 4000 ? passed : host.sleep(ms, signal)),
      }),
    });
    expect(ran.exit, ran.err).toBe(exit);
    const rows = JSON.parse(ran.out) as Result[];
    expect(rows.map(({ status }) => status)).toEqual(["succeeded", "unknown", "not started"]);
    // The run of row b continues: collected, it would be started twice.
    expect(await textOf(rest)).toBe("query,seconds\nc,0\n");
    expect(ran.err).toContain("1 of 3 rows done, 1 unknown, 1 not sent");
    expect(ran.err).toContain("check the unknown rows in `wf logs --app slow`");
  });
});

test.each([
  ["broken", "node Fetch: [Errno 111] Connection refused"],
  ["review", "is waiting for human input"],
  ["echo", null],
])(
  "the error of a row begins with what differs, not with the ID of its run: %s",
  async (app, why) => {
    const ran = await each(app, six, ["-o", "jsonl"]);
    expect(lines(ran.out).map(({ error }) => error)).toEqual(Array.from({ length: 6 }, () => why));
  },
);

test("--read-only stops before the first row", async () => {
  const ran = await each("echo", six, ["--read-only", "-o", "jsonl"]);
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain("write blocked: read-only mode (--read-only)");
  expect(starts()).toEqual([]);
});

describe("--errors-to", () => {
  test.each<[string, () => Promise<string>, string]>([
    ["a path below a file", async () => join(six, "f.csv"), "failed to write --errors-to"],
    [
      "a directory",
      async () => {
        await mkdir(join(home, "folder"), { recursive: true });
        return join(home, "folder");
      },
      "failed to write --errors-to",
    ],
    ["the file of rows", async () => six, "--errors-to must be a different file"],
    [
      "the file of rows by another path",
      async () => `${home}/./folder/../six.csv`,
      "--errors-to must be a different file",
    ],
    ["stdout", async () => "-", "--errors-to must be a different file"],
  ])("%s is rejected before the first run", async (_, place, message) => {
    const ran = await each("echo", six, ["--errors-to", await place()]);
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain(message);
    expect(starts()).toEqual([]);
    expect(await textOf(six)).toBe("query\na\nb\nc\nd\ne\nf\n");
  });

  test("clears the rows of the last time", async () => {
    const rest = await file("last.csv", "query\nold\n");
    expect((await each("echo", six, ["--errors-to", rest])).exit).toBe(0);
    expect(await textOf(rest)).toBe("query\n");
  });

  test("prints all results if the disk is full at the end", async () => {
    const rest = join(home, "full.csv");
    const ran = await each("broken", six, ["--errors-to", rest, "-o", "json"], {
      around: (host) => ({
        ...host,
        files: {
          ...host.files,
          writeAtomic: (path, content, mode) =>
            path === rest && content !== "query\n"
              ? Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }))
              : host.files.writeAtomic(path, content, mode),
        },
      }),
    });
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("failed to write --errors-to: disk full");
    expect((JSON.parse(ran.out) as Result[]).map(({ status }) => status)).toEqual(
      Array.from({ length: 6 }, () => "failed"),
    );
  });

  test("excludes rows whose run may still be running", async () => {
    server.sandbox.setFaults([parseFault("POST /workflows/run cut-bytes=5 times=1")]);
    const rest = join(home, "open.csv");
    const flags = ["--concurrency", "1", "--errors-to", rest, "-o", "jsonl"];
    const lost = await each("echo", six, flags);
    expect(lost.exit).toBe(10);
    expect(lines(lost.out)[0]).toMatchObject({ row: 1, status: "unknown" });
    expect(await textOf(rest)).toBe("query\n");
    expect(lost.err).toContain("5 of 6 rows done, 1 unknown");

    const paused = await each("review", six, flags);
    expect(paused.exit).toBe(10);
    expect(await textOf(rest)).toBe("query\n");
    expect(paused.err).toContain("0 of 6 rows done, 6 unknown");
  });

  test.each([
    [["--errors-to", "f.csv"], "--errors-to"],
    [["--concurrency", "2"], "--concurrency"],
    [["--stop-on-error"], "--stop-on-error"],
  ])("%j requires --each", async (flags, flag) => {
    const argv = ["wf", "--app", "echo", "run", "--input", "query=x", ...flags];
    const ran = await server.cli(argv, { folder: home });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`${flag} requires --each`);
    expect(starts()).toEqual([]);
  });
});

test("at the deadline each row has the ID of its run, without false claims", async () => {
  const argv = ["--input", "seconds=600", "--timeout", "61s", "-o", "jsonl"];
  let known = 0;
  let late = () => {};
  // The deadline passes when three runs are saved.
  const ran = await each("slow", six, argv, {
    files: {
      writeAtomic: async (path, content, mode) => {
        await diskFiles.writeAtomic(path, content, mode);
        if (/state.runs/.test(path) && ++known === 3) late();
      },
    },
    around: (host) => ({
      ...host,
      sleep: (ms, signal) =>
        ms === 61_000 ? new Promise((resolve) => (late = resolve)) : host.sleep(ms, signal),
    }),
  });
  expect(ran.exit, ran.err).toBe(12);
  const begun = lines(ran.out).filter(({ run }) => run !== null);
  expect(begun.map(({ error }) => error)).toEqual(
    Array.from({ length: 3 }, () => "timed out after 61s"),
  );
  expect(ran.err).not.toContain("the change may have been applied");
  expect(ran.err).toContain("0 of 6 rows done, 3 unknown, 3 not sent");
  expect(ran.err).toContain("check the unknown rows in `wf logs --app slow`");
});

describe("the same command", () => {
  const statuses = (out: string) => lines(out).map(({ status }) => status);
  const flags = ["--concurrency", "1", "-o", "jsonl"];

  test("starts only rows again whose runs failed or were not started", async () => {
    const folder = await temporaryDirectory();
    server.sandbox.setFaults([parseFault("POST /workflows/run status=401 skip=2 times=1")]);
    const stopped = await each("echo", six, flags, { folder });
    expect(stopped.exit, stopped.err).toBe(4);
    const again = await each("echo", six, flags, { folder });
    expect(again.exit, again.err).toBe(0);
    expect(again.err).toMatch(/^resuming: 2 of 6 rows already done/);
    expect(again.err).toContain("4 of 6 rows done, 2 skipped");
    expect(statuses(again.out)).toEqual([
      "skipped",
      "skipped",
      "succeeded",
      "succeeded",
      "succeeded",
      "succeeded",
    ]);
    expect(lines(again.out)[0]?.run).toBe(lines(stopped.out)[0]?.run);
    expect(starts()).toHaveLength(7);
    expect(await readdir(join(folder, "state"))).toEqual(["failures", "runs"]);
  });

  test("never starts a row again whose run may have started", async () => {
    const folder = await temporaryDirectory();
    const path = await file("lost.csv", "query\na\nb\n");
    server.sandbox.setFaults([parseFault("POST /workflows/run cut-bytes=5 times=1")]);
    expect((await each("echo", path, flags, { folder })).exit).toBe(10);
    const again = await each("echo", path, flags, { folder });
    expect(again.exit, again.err).toBe(10);
    expect(lines(again.out)).toMatchObject([
      { row: 1, status: "unknown", error: expect.stringContaining("may have started") as string },
      { row: 2, status: "skipped" },
    ]);
    expect(starts()).toHaveLength(2);
  });

  /** Interrupts the command as soon as the ID of its first run is in the journal. */
  async function interrupted(path: string, folder: string) {
    const interrupt = new AbortController();
    const cut = await each("slow", path, flags, {
      folder,
      signal: interrupt.signal,
      files: {
        append: async (name, text) => {
          await diskFiles.append(name, text);
          if (/"id":/.test(text)) interrupt.abort("SIGINT");
        },
      },
    });
    expect(cut.exit, cut.err).toBe(130);
    return cut;
  }

  test("looks up what became of a run whose ID is known", async () => {
    const folder = await temporaryDirectory();
    const path = await file("two.csv", "query,seconds\na,600\nb,0\n");
    const cut = await interrupted(path, folder);
    expect(statuses(cut.out)).toEqual(["unknown", "not started"]);
    const { run } = lines(cut.out)[0] ?? {};
    await server.cli(["wf", "--app", "slow", "stop", String(run)], { folder });
    const again = await each("slow", path, flags, { folder });
    expect(again.exit, again.err).toBe(10);
    expect(lines(again.out)).toMatchObject([{ status: "stopped", run }, { status: "succeeded" }]);
    expect(bodies().map(({ inputs }) => inputs)).toMatchObject([{ query: "a" }, { query: "b" }]);
  });

  test("follows a run that is still running to its end", async () => {
    const folder = await temporaryDirectory();
    const path = await file("running.csv", "query,seconds\na,100\nb,0\n");
    const { run } = lines((await interrupted(path, folder)).out)[0] ?? {};
    const again = await each("slow", path, flags, { folder });
    expect(again.exit, again.err).toBe(0);
    expect(lines(again.out)).toMatchObject([
      { row: 1, status: "succeeded", run, error: null },
      { row: 2, status: "succeeded" },
    ]);
    expect(again.err).toMatch(/^2 of 2 rows done$/m); // after lines of progress
    expect(starts()).toHaveLength(2);
  });

  test("--stop-on-error stops at a run that was started before and has failed", async () => {
    const folder = await temporaryDirectory();
    const path = await file("stopped.csv", "query,seconds\na,600\nb,0\n");
    const { run } = lines((await interrupted(path, folder)).out)[0] ?? {};
    await server.cli(["wf", "--app", "slow", "stop", String(run)], { folder });
    const again = await each("slow", path, [...flags, "--stop-on-error"], { folder });
    expect(again.exit, again.err).toBe(10);
    expect(lines(again.out)).toMatchObject([{ status: "stopped", run }, { status: "not started" }]);
    expect(starts()).toHaveLength(1);
  });

  test("--stop-on-error starts no further run, and a dry run shows them all", async () => {
    const folder = await temporaryDirectory();
    const ran = await each("broken", six, [...flags, "--stop-on-error"], { folder });
    expect(ran.exit).toBe(10);
    expect(statuses(ran.out)).toEqual([
      "failed",
      ...Array.from({ length: 5 }, () => "not started"),
    ]);
    expect(ran.err).toContain("0 of 6 rows done, 1 failed, 5 not sent");
    const dry = await each("echo", six, ["--dry-run"], { folder });
    expect(dry).toMatchObject({ exit: 0, err: "" });
    expect(dry.out.match(/^\{"inputs":\{"query":"[a-f]"\}/gm)).toHaveLength(6);
  });
});

describe("flags apply to all rows", () => {
  test("files", async () => {
    const files = [
      { type: "image", transfer_method: "remote_url", url: "https://a.example/b.png" },
    ];
    const ran = await each("echo", six, ["--files", JSON.stringify(files)]);
    expect(ran.exit, ran.err).toBe(0);
    expect(bodies().map((body) => body.files)).toEqual(Array.from({ length: 6 }, () => files));
  });

  test.each([
    ["CSV", "both.csv", "query,seconds\nrow,0\n,\n"],
    ["JSON Lines", "both.jsonl", '{"query":"row","seconds":0}\n{"query":null,"seconds":null}\n'],
    ["JSON Lines with texts", "texts.jsonl", '{"query":"row","seconds":"0"}\n{}\n'],
  ])("but values of a row take precedence: %s", async (_, name, text) => {
    const path = await file(name, text);
    for (const flags of [
      ["--input", "query=line", "--input", "seconds=1"],
      ["--inputs", '{"query":"line","seconds":1}'],
    ]) {
      seen.length = 0;
      const ran = await each("slow", path, ["--concurrency", "1", ...flags]);
      expect(ran.exit, ran.err).toBe(0);
      expect(bodies().map(({ inputs }) => inputs)).toEqual([
        { query: "row", seconds: 0 },
        { query: "line", seconds: 1 },
      ]);
    }
  });

  test("duplicate columns are rejected", async () => {
    const ran = await each("echo", await file("twice.csv", "query,query\na,b\n"));
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("duplicate column query");
    expect(starts()).toEqual([]);
  });
});

rareTest("saves every run, even if many start at once", async () => {
  const folder = await temporaryDirectory();
  const rows = Array.from({ length: 20 }, (_, row) => `${row}`).join("\n");
  const path = await file("many.csv", `query\n${rows}\n`);
  const ran = await each("echo", path, ["--concurrency", "10", "-o", "jsonl"], { folder });
  expect(ran.exit, ran.err).toBe(0);
  for (const { run } of lines(ran.out)) {
    const stopped = await server.cli(["wf", "--app", "echo", "stop", String(run)], { folder });
    expect(stopped.err).toBe(`run ${run} has already ended with status succeeded\n`);
  }
});

test("a file of a run that cannot be read does not hide an earlier one", async () => {
  const folder = await temporaryDirectory();
  const world = { folder };
  const slow = ["wf", "--app", "slow"];
  const start = [...slow, "run", "-i", "query=x", "-i", "seconds=600", "--detach", "-o", "name"];
  const id = (await server.cli(start, world)).out.trim();
  await writeFile(join(folder, "state", "runs", `9999999999999-${id}.json`), "{");
  const stopped = await server.cli([...slow, "stop", id, "--jq", ".status"], world);
  expect(stopped, stopped.err).toMatchObject({ exit: 0, out: "stopped\n" });
});

test("keeps only the newest runs", async () => {
  const folder = await temporaryDirectory();
  const runs = join(folder, "state", "runs");
  await mkdir(runs, { recursive: true });
  for (let old = 100; old < 550; old++) await writeFile(join(runs, `${old}-old.json`), "{}");
  const ran = await each("echo", await file("one.csv", "query\na\n"), ["-o", "name"], { folder });
  expect(ran.exit, ran.err).toBe(0);
  const left = await readdir(runs);
  expect(left).toHaveLength(400);
  // The new run has two files.
  expect(left.filter((name) => name.endsWith("-old.json")).sort()[0]).toBe("152-old.json");
  expect(left.join()).toContain(ran.out.trim());
});
