/** How suites of tests run: results as they come, early ends, recordings, reports for machines. */
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { afterAppend, hasResult, interruptedWhen } from "../../lib/after-append.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const at = (name: string) => join(folder, name);
await write(folder, {
  "echo.yaml": `
name: Echo
tests:
  - { name: first, inputs: { query: a }, expect: ['output query is "a"'] }
  - { name: second, inputs: { query: b }, expect: ['output query is "c"'] }
  - { name: third, inputs: { query: d } }
`,
  "chat.yaml": `
app: chat
tests:
  - name: two turns
    turns:
      - query: hello
      - { query: again, expect: ['text contains "never"'] }
`,
});
const wf = (args: readonly string[], world: World = {}) =>
  sandbox.cli(
    ["wf", "--app", "echo", "test", "run"].concat(
      args.map((word) => (/\.(yaml|json|xml)$|^kept/.test(word) ? at(word) : word)),
    ),
    { folder, ...world },
  );
const withFault = async <T>(fault: string, work: () => Promise<T>): Promise<T> => {
  sandbox.sandbox.setFaults([parseFault(fault)]);
  return work().finally(() => sandbox.sandbox.setFaults([]));
};
const starts = () => sandbox.seen.filter(({ path }) => path === "/v1/workflows/run").length;

/** Runs a line with --timeout 90s, which expires once the first answer is recorded. */
function lateAfterOne(args: readonly string[]) {
  let expire = () => {};
  const expired = new Promise<void>((resolve) => (expire = resolve));
  return wf(args, {
    ...afterAppend((text) => hasResult(text) && expire()),
    around: (host) => ({
      ...host,
      sleep: (ms, signal) => (ms === 90_000 ? expired : host.sleep(ms, signal)),
    }),
  });
}

interface Saved {
  readonly stopped: unknown;
  readonly tests: readonly {
    readonly status: string;
    readonly results: readonly { readonly recordings: readonly string[] }[];
  }[];
}
const saved = async (name: string) => JSON.parse(await readFile(at(name), "utf8")) as Saved;

test("-o jsonl prints a line for each result, in order, and the verdict on stderr", async () => {
  const pieces: string[] = [];
  const ran = await wf(["echo.yaml", "--repeat", "2", "-o", "jsonl"], {
    onOutput: (text) => void pieces.push(text),
  });
  expect(ran.exit).toBe(14);
  const lines = ran.out.trimEnd().split("\n");
  const results = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(results.map(({ test: name, repeat, status }) => [name, repeat, status])).toEqual([
    ["first", 1, "passed"],
    ["second", 1, "failed"],
    ["third", 1, "passed"],
    ["first", 2, "passed"],
    ["second", 2, "failed"],
    ["third", 2, "passed"],
  ]);
  expect(pieces).toHaveLength(6);
  expect(ran.err).toContain("1 test failed: Echo: second");
});

describe("an early end", () => {
  const again = async (ran: { readonly err: string }, more: readonly string[] = []) => {
    expect(ran.err).toContain("run the same command again to continue\n");
    const before = starts();
    const next = await wf(["echo.yaml", "--concurrency", "1", "--save", "end.json", ...more]);
    expect(next.exit, next.err).toBe(14);
    expect(next.err).toContain("resuming: 1 of 3 runs of tests already done");
    expect(starts() - before).toBe(2);
  };
  const line = ["echo.yaml", "--concurrency", "1", "--save", "end.json"];

  test("by --timeout reports what has ended, and exits with 12", async () => {
    const ran = await lateAfterOne([...line, "--timeout", "90s"]);
    expect(ran.exit, ran.err).toBe(12);
    expect(ran.out).toContain("# 1 of 3 tests passed\n");
    expect(ran.out).toContain("not run\tEcho: third\t");
    expect(ran.out).toContain("# ended early: timed out after 90s\n# 2 tests not run\n");
    const { stopped, tests } = await saved("end.json");
    expect(stopped).toEqual({ code: "deadline", message: "timed out after 90s" });
    expect(tests.map(({ status }) => status)).toEqual(["passed", "not run", "not run"]);
    await again(ran);
  });

  test("by a rejected key exits with 4", async () => {
    const fault = "POST /workflows/run status=401 skip=1";
    const ran = await withFault(fault, () => wf(line));
    expect(ran.exit, ran.err).toBe(4);
    expect(ran.out).toContain("# 1 of 3 tests passed\n");
    await again(ran);
  });

  test("by an interrupt says how to continue, and exits with 130", async () => {
    const before = starts();
    const ran = await wf(
      line,
      interruptedWhen((text) => hasResult(text) && starts() > before),
    );
    expect(ran.exit).toBe(130);
    expect(ran.out).toBe("");
    expect(ran.err).toContain("1 of 3 test runs recorded");
    await again(ran);
  });

  test("before anything was asked is that error alone", async () => {
    const ran = await withFault("POST /workflows/run status=401", () => wf(line));
    expect(ran.exit).toBe(4);
    expect(ran.out).toBe("");
    expect(ran.err).not.toContain("recorded");
    expect((await readdir(at("state"))).filter((name) => name.startsWith("suite-"))).toEqual([]);
  });

  test("by a server that is gone exits with 11", async () => {
    const gone = await testSandbox();
    let asked = 0;
    const ran = await gone.cli(
      [
        "wf",
        "--app",
        "echo",
        "test",
        "run",
        at("echo.yaml"),
        "--concurrency",
        "1",
        "--retries",
        "0",
      ],
      {
        folder: await temporaryDirectory(),
        ...afterAppend((text) => hasResult(text) && ++asked === 1 && gone.sandbox.stop()),
      },
    );
    expect(ran.exit, ran.err).toBe(11);
    expect(ran.out).toContain("# 1 of 3 tests passed\n");
  });

  test("10 comes before 14", async () => {
    await write(folder, {
      "both.yaml":
        "tests:\n  - { name: a, inputs: { query: x }, expect: [run failed] }\n  - { name: b, inputs: { query: x } }\n",
    });
    const fault = "POST /workflows/run status=500 skip=1";
    const ran = await withFault(fault, () =>
      wf(["both.yaml", "--concurrency", "1", "--retries", "0"]),
    );
    expect(ran.exit, ran.out).toBe(10);
  });
});

describe("the same command asks again", () => {
  test.each<[string, () => Promise<unknown>, readonly string[]]>([
    ["if the suite has changed", () => write(folder, { "one.yaml": one("y") }), []],
    ["with another --repeat", () => Promise.resolve(), ["--repeat", "2"]],
    ["in a shard", () => Promise.resolve(), ["--shard", "1/1"]],
    ["if a file of the inputs has changed", () => write(folder, { "in.txt": "new" }), []],
  ])("%s", async (title, change, more) => {
    // The journal of one case is not that of another.
    await write(folder, { "one.yaml": one(`case${title.length}`), "in.txt": "old" });
    const stopped = await lateAfterOne(["one.yaml", "--concurrency", "1", "--timeout", "90s"]);
    expect(stopped.err).toContain("1 of 2 test runs recorded");
    await change();
    const ran = await wf(["one.yaml", ...more]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).not.toContain("resuming");
  });
});

test("the answers of another server are asked again, those of a single question, too", async () => {
  await write(folder, { "single.yaml": "tests: [{ name: a, inputs: { query: x } }]\n" });
  const line = ["single.yaml", "--repeat", "2", "--concurrency", "1"];
  expect((await lateAfterOne([...line, "--timeout", "90s"])).exit).toBe(12);
  const other = await testSandbox();
  const ran = await other.cli(
    ["wf", "--app", "echo", "test", "run", at("single.yaml"), ...line.slice(1)],
    { folder },
  );
  expect(ran).toMatchObject({ exit: 0, err: expect.not.stringContaining("resuming") });
  expect((await wf(line)).err).toContain("resuming: 1 of 2 runs");
});

/** Two tests for an application that takes a file. */
const one = (name: string) =>
  `app: inputs\ndefaults: { inputs: { kind: a, name: ${name}, doc: "@${at("in.txt")}" } }\ntests: [{ name: a }, { name: b }]\n`;

describe("--keep", () => {
  test("failed keeps what replay, timeline and diff read, and the report names the files", async () => {
    const args = ["echo.yaml", "chat.yaml", "--keep", "failed", "--keep-to", "kept", "-o", "tsv"];
    const ran = await wf([...args, "--save", "kept.json"]);
    expect(ran.exit).toBe(14);
    expect((await readdir(at("kept"))).toSorted()).toEqual([
      "Echo-second-1.jsonl",
      "chat-two-turns-1-turn1.jsonl",
      "chat-two-turns-1-turn2.jsonl",
    ]);
    const file = at("kept/Echo-second-1.jsonl");
    expect(ran.out).toContain(`output query is "c"\tit is "b"\t\t${file}\n`);
    expect(ran.out).toMatch(/fixed answer\."\t\t.*-turn2\.jsonl\n/);
    const { tests } = await saved("kept.json");
    expect(tests.map(({ results }) => results[0]?.recordings.length)).toEqual([0, 1, 0, 2]);
    expect((await sandbox.cli(["wf", "replay", file])).exit).toBe(0);
    const timeline = await sandbox.cli(["wf", "timeline", file]);
    expect(timeline.exit, timeline.err).toBe(0);
    expect((await sandbox.cli(["wf", "diff", file, file, "--exit-code"])).exit).toBe(0);
    const reply = await sandbox.cli(["wf", "replay", at("kept/chat-two-turns-1-turn2.jsonl")]);
    expect(reply.out).toContain("You said: again.");
  });

  test("all keeps every run, and --redact no text", async () => {
    await wf(["echo.yaml", "--keep", "all", "--keep-to", "kept-all", "--redact", "--repeat", "2"]);
    const names = await readdir(at("kept-all"));
    expect(names).toHaveLength(6);
    const text = await readFile(at("kept-all/Echo-second-2.jsonl"), "utf8");
    expect(text).toContain('"redacted":true');
    expect(text).toContain("<1 character>");
  });

  test("a directory that cannot be written is found before anything is asked", async () => {
    await writeFile(at("kept-file"), "");
    const before = sandbox.seen.length;
    const ran = await wf(["echo.yaml", "--keep", "all", "--keep-to", "kept-file"]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`--keep: failed to write to ${at("kept-file")}: `);
    const full = await wf(["echo.yaml", "--keep", "all", "--keep-to", "kept-full"], {
      files: {
        writeAtomic: () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" })),
      },
    });
    expect(full.exit).toBe(1);
    expect(full.err).toContain("disk full");
    expect(sandbox.seen.length).toBe(before);
  });

  test("a recording that cannot be written does not change the results, but the exit code", async () => {
    let writes = 0;
    await write(folder, { "good.yaml": "tests: [{ name: a, inputs: { query: x } }]\n" });
    const late = await wf(["good.yaml", "--keep", "all", "--keep-to", "kept-late"], {
      files: {
        writeAtomic: (path, content) =>
          ++writes > 1
            ? Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }))
            : diskFiles.writeAtomic(path, content),
      },
    });
    expect(late.out).toContain("1 of 1 test passed");
    expect(late.exit).toBe(1);
    expect(late.err).toContain("failed to write the recording");
  });

  test.each(["--keep-to", "--redact"])("%s requires --keep", async (flag) => {
    const ran = await wf(["echo.yaml", flag, ...(flag === "--redact" ? [] : ["x"])]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`${flag} requires --keep`);
  });
});

test("a JUnit report has the suites with their times", async () => {
  await wf([
    "echo.yaml",
    "chat.yaml",
    "--junit",
    "all.xml",
    "--keep",
    "failed",
    "--keep-to",
    "kept",
  ]);
  const xml = await readFile(at("all.xml"), "utf8");
  expect(xml).toContain('<testsuites name="wf test" tests="4" failures="2" errors="0" time="');
  expect(xml).toContain('<testsuite name="Echo" tests="3" failures="1" errors="0" time="');
  expect(xml).toContain('<testsuite name="chat" tests="1" failures="1" errors="0" time="');
  expect(xml).toContain('<testcase classname="chat" name="two turns" time="');
  expect(xml).toMatch(/recording: .*Echo-second-1\.jsonl/);
});
