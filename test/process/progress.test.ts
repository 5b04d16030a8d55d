import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { write } from "../lib/directory.ts";
import { fastClock } from "../lib/fast-clock.ts";
import { held, heldClock } from "../lib/held-clock.ts";
import { onPty } from "../lib/pty.ts";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const ctrlC = "\u0003";

/** A sandbox of its own with a knowledge base, and a directory. */
async function place({ speed = 5 } = {}) {
  const clock = heldClock(fastClock(speed));
  const server = await testSandbox({ clock });
  const home = await temporaryDirectory();
  const kb = "Base";
  await server.done(["kb", "create", kb, "--indexing-technique", "economy"]);
  const env = { ...server.env, HOME: home, NO_COLOR: "1" };
  return {
    server,
    kb,
    dir: join(home, "dir"),
    faults: (...all: readonly string[]) => server.sandbox.setFaults(all.map(parseFault)),
    pass: (count: number) => clock.pass(count),
    onTerminal: (...args: readonly string[]) => onPty("kb", args, env),
    /** The names of the documents in the knowledge base. */
    async names() {
      const { out } = await server.cli(["kb", "doc", "list", kb, "--all", "-o", "name"]);
      return out.split("\n").filter(Boolean);
    },
  };
}
type Place = Awaited<ReturnType<typeof place>>;

const files = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `it/page-${String(index + 1).padStart(3, "0")}.md`,
      `text ${index}`,
    ]),
  );

describe.concurrent("a sync on a slow server", () => {
  test("shows a count that grows, the file and the time left; then only the sum", async () => {
    const { kb, dir, faults, pass, onTerminal } = await place();
    await write(dir, files(24));
    faults(`POST /datasets/*/document/create-by-text ${held}`);
    const run = onTerminal("sync", kb, dir, "--concurrency", "1");
    pass(5);
    await run.shows(/Uploading {2}5\/24 files · it\/page-005\.md/);
    pass(5);
    await run.shows(/Uploading {2}10\/24 files · it\/page-010\.md/);
    // The time left is known after two seconds of uploads.
    faults("POST /datasets/*/document/create-by-text delay=400ms");
    pass(Infinity);
    await run.shows(/Uploading {2}\d\d\/24 files · it\/page-0\d\d\.md · \d:\d\d left/);
    expect(await run.exit).toBe(0);
    expect(await run.lines()).toEqual(["24 files: 24 created; 158 characters indexed"]);
  });

  test("failures are counted, and listed with whole paths in groups", async () => {
    const { kb, dir, faults, onTerminal, names } = await place();
    const long = "policies/human-resources/europe/germany/parental-leave/application-form.md";
    await write(dir, { ...files(3), [long]: "text", "a.png": "x", "b.png": "x", "empty.md": "" });
    faults("POST /datasets/*/document/create-by-text status=400 times=2");
    const run = onTerminal("sync", kb, dir, "--concurrency", "1");
    expect(await run.exit).toBe(10);
    const text = (await run.lines()).join("\n");
    expect(text).toMatch(/^failed {2}2 × /m);
    expect(text.replaceAll(/\n {8}/g, "")).toMatch(/it\/page-001\.md, ?it\/page-002\.md$/m);
    expect(text).toContain("failed  empty.md: the file is empty");
    expect(text).toContain("skip    2 × unsupported file type: a.png, b.png");
    expect(text).toContain("7 files: 2 created, 2 skipped, 3 failed; ");
    expect(text).toMatch(/^error: failed to sync 3 of 7 files$/m);
    expect(text).toContain("hint: fix them and run the command again");
    expect(await names()).toHaveLength(2);
  });
});

test.concurrent("before a delete is confirmed, nothing says that it happens", async () => {
  const { server, kb, dir, faults, pass, onTerminal } = await place();
  await write(dir, files(1));
  await server.cli(["kb", "sync", kb, dir]);
  faults(`GET /datasets/*/documents/* ${held}`);
  const run = onTerminal("doc", "delete", kb, "it/page-001.md");
  await run.shows(/Reading document it\/page-001\.md from knowledge base/);
  pass(1);
  await run.shows(/Delete document it\/page-001\.md/);
  run.type("n\r");
  expect(await run.exit).toBe(2);
});

describe.concurrent("Ctrl-C", () => {
  test("tells how many files were uploaded, and they are on the server", async () => {
    const { kb, dir, faults, pass, onTerminal, names } = await place();
    await write(dir, files(18));
    faults(`POST /datasets/*/document/create-by-text ${held}`);
    const run = onTerminal("sync", kb, dir);
    pass(6);
    await run.shows(/Uploading {2}6\/18 files/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    // Requests for further files were on their way, unless they were just about to be sent.
    const [, uploaded, unknown = "0"] =
      /^error: interrupted: (\d+) of 18 files uploaded(?:, (\d+) more changes? may have been made)?$/m.exec(
        text,
      ) ?? [];
    // The count of changes that may have been made says it already.
    expect(text.includes("some changes were made")).toBe(unknown === "0");
    expect(text).not.toContain("the change may have been applied");
    expect(text).toContain("hint: run the same command again to resume");
    const stored = (await names()).length;
    expect(Number(uploaded), text).toBeGreaterThanOrEqual(6);
    expect(stored, text).toBeGreaterThanOrEqual(Number(uploaded));
    expect(stored, text).toBeLessThanOrEqual(Number(uploaded) + Number(unknown));
  });

  test("while few documents are left to index, they are named", async () => {
    const { kb, dir, onTerminal } = await place({ speed: 0.0001 });
    await write(dir, files(2));
    const run = onTerminal("sync", kb, dir);
    await run.shows(/Indexing {2}0\/2 documents .*it\/page-001/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
  });

  test("while documents are indexed: nothing is unknown", async () => {
    const { kb, dir, faults, onTerminal } = await place({ speed: 0.02 });
    await write(dir, files(3));
    // Before the first look at them, too.
    faults(`GET /datasets/*/documents ${held} skip=1`);
    const run = onTerminal("sync", kb, dir);
    await run.shows(/Indexing {2}0\/3 documents/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    expect(text).toContain("error: interrupted: 3 of 3 files uploaded\n");
    expect(text).not.toMatch(/some changes were made|may have been/);
  });

  test("in an export: how many documents were downloaded", async () => {
    const { server, kb, dir, faults, onTerminal } = await place();
    await write(dir, files(3));
    await server.cli(["kb", "sync", kb, dir]);
    faults(`POST /datasets/*/documents/download-zip ${held}`);
    const run = onTerminal("export", kb, `${dir} export`);
    await run.shows(/Downloading {2}0\/3 documents/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    expect(text).toContain("error: interrupted: 0 of 3 documents downloaded");
    expect(text).not.toMatch(/may have been|changes were made/);
  });

  test("in an idle --watch: stopped", async () => {
    const { kb, dir, onTerminal } = await place();
    await write(dir, files(2));
    const run = onTerminal("sync", kb, dir, "--watch");
    await run.shows(/press Ctrl-C to stop/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    expect(text).toMatch(/stopped$/);
    expect(text).not.toMatch(/interrupted|may have been|changes were made/);
  });
});

test.concurrent("--watch prints the changes of a sync before its summary", async () => {
  const { kb, dir, onTerminal } = await place();
  await write(dir, files(1));
  const run = onTerminal("sync", kb, dir, "--watch");
  await run.shows(
    /^create {2}it\/page-001\.md\n1 file: 1 created; [^\n]+\nwatching [^]+ press Ctrl-C to stop\n/m,
  );
  await write(dir, { "new.md": "new" });
  await run.shows(/^create {2}new\.md\n2 files: 1 created, 1 unchanged; 3 characters indexed\n/m);
  run.type(ctrlC);
  expect(await run.exit).toBe(130);
});

test.concurrent("a large file is named with its size while it is sent", async () => {
  const { kb, dir, faults, pass, onTerminal } = await place();
  await write(dir, { "huge.md": "word ".repeat(250_000) });
  faults(`POST /datasets/*/document/create-by-text ${held}`);
  const run = onTerminal("sync", kb, dir, "--no-wait");
  await run.shows(/Uploading {2}0\/1 files · huge\.md, 1\.2 MiB of 1\.2 MiB/);
  pass(1);
  expect(await run.exit).toBe(0);
});

test.concurrent("an idle --watch shows no count of the sync before", async () => {
  const { kb, dir, faults, pass, onTerminal } = await place();
  await write(dir, files(1));
  faults(`POST /datasets/*/document/create-by-text ${held}`);
  const run = onTerminal("sync", kb, dir, "--watch");
  pass(1);
  await run.shows(/press Ctrl-C to stop/);
  await write(dir, { "new.md": "new" });
  await run.shows(/Uploading {2}0\/1 files/);
  pass(1);
  await run.shows(
    /press Ctrl-C to stop\n[^]*2 files: 1 created, 1 unchanged[^]*press Ctrl-C to stop/,
  );
  run.type(ctrlC);
  expect(await run.exit).toBe(130);
  // What is at the bottom is drawn again below each line.
  const [, idle = ""] = run.written().split(/press Ctrl-C to stop[^]*press Ctrl-C to stop/);
  expect(idle).toContain("stopped");
  expect(idle).not.toMatch(/Uploading|Indexing/);
});

describe.concurrent("every slow command counts", () => {
  const lines = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `${line(index + 1)}\n`).join("");

  /** Some commands count the results in the order of their input. */
  const inOrder = ["--concurrency", "1"];

  /** Command, requests that are held, how many pass, and what the terminal shows then. */
  const slow: readonly (readonly [
    string,
    (place: Place) => Promise<readonly string[]>,
    string,
    number,
    RegExp,
  ])[] = [
    [
      "export",
      async ({ kb, dir }) => ["export", kb, `${dir} export`],
      "POST /datasets/*/documents/download-zip",
      0,
      /Downloading {2}0\/8 documents/,
    ],
    [
      "verify",
      async ({ kb }) => ["verify", kb, kb],
      "POST /datasets/*/documents/download-zip",
      0,
      /Comparing {2}0\/8 documents/,
    ],
    [
      "copy",
      async ({ kb }) => ["copy", kb, "--name", `${kb} copy`, ...inOrder],
      "POST /datasets/*/document/create-by-text",
      3,
      /Uploading {2}3\/8 documents/,
    ],
    [
      "eval",
      async ({ kb, dir }) => {
        const path = `${dir} questions.jsonl`;
        const question = (at: number) => JSON.stringify({ question: `q${at}`, text: "text" });
        await writeFile(path, lines(9, question));
        return ["eval", kb, path, ...inOrder];
      },
      "POST /datasets/*/retrieve",
      3,
      /Evaluating {2}3\/9 questions/,
    ],
    [
      "tag create --each",
      async ({ dir }) => {
        await writeFile(`${dir} tags.csv`, `name\n${lines(9, (at) => `tag ${at}`)}`);
        return ["tag", "create", "--each", `${dir} tags.csv`, ...inOrder];
      },
      "POST /datasets/tags",
      3,
      /Creating {2}3\/9 rows/,
    ],
    [
      "doc delete of many",
      async ({ kb }) => ["doc", "delete", kb, ...Object.keys(files(8)), "--yes", ...inOrder],
      "DELETE /datasets/*/documents/*",
      3,
      /Deleting {2}3\/8 items/,
    ],
  ];

  test.each(sampled(3, slow))("%s", async (_, prepare, requests, count, shown) => {
    const its = await place();
    const { server, kb, dir, faults, pass, onTerminal } = its;
    await write(dir, files(8));
    await server.cli(["kb", "sync", kb, dir]);
    const line = await prepare(its);
    faults(`${requests} ${held}`);
    const run = onTerminal(...line);
    pass(count);
    await run.shows(shown);
    pass(Infinity);
    expect(await run.exit, (await run.lines()).join("\n")).toBe(0);
  });
});

describe.concurrent("--each -o json: what stderr says follows the closing bracket", () => {
  test.each<[string, readonly string[], number, readonly string[]]>([
    ["all rows", [], 0, ["]", "Created tag: 3 of 3 rows done"]],
    [
      "rows that failed",
      ["status=400 skip=2 times=1"],
      10,
      ["]", "error: 2 of 3 rows done, 1 failed"],
    ],
    [
      "a wrong key",
      ["status=401 skip=2 times=1"],
      4,
      ["]", "2 of 3 rows done, 1 failed", "run the same command again to send"],
    ],
  ])("%s", async (_, fault, exit, end) => {
    const { dir, faults, onTerminal } = await place();
    const path = `${dir} json.csv`;
    const names = [1, 2, 3].map((at) => `json ${at}\n`);
    await writeFile(path, `name\n${names.join("")}`);
    faults(...fault.map((how) => `POST /datasets/tags ${how}`));
    const flags = ["--each", path, "--concurrency", "1", "-o", "json"];
    const run = onTerminal("tag", "create", ...flags);
    expect(await run.exit).toBe(exit);
    const text = (await run.lines()).join("\n");
    const at = text.lastIndexOf("]");
    expect(text.slice(0, at).match(/"row": \d/g)).toHaveLength(3);
    expect(text.slice(0, at)).not.toMatch(/rows done|error":\{/);
    for (const part of end) expect(text.slice(at).replaceAll("\n", "")).toContain(part);
  });
});
