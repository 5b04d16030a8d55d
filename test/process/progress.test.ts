import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/http/faults.ts";
import { write } from "../lib/directory.ts";
import { onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const home = await temporaryDirectory();
// Delays of faults are five times as long as the tests see.
const server = await testSandbox({ speed: 5 });
const env = { ...server.env, HOME: home, NO_COLOR: "1" };
const ctrlC = "\u0003";

let number = 0;
let kb = "";
let dir = "";

const faults = (...all: readonly string[]) => server.sandbox.setFaults(all.map(parseFault));
const files = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `it/page-${String(index + 1).padStart(3, "0")}.md`,
      `text ${index}`,
    ]),
  );
const namesOf = async (name: string) => {
  const { out } = await server.cli(["kb", "doc", "list", name, "--all", "-o", "name"]);
  return out.split("\n").filter(Boolean);
};

beforeEach(async () => {
  faults();
  kb = `Base ${++number}`;
  dir = join(home, `dir ${number}`);
  await server.cli(["kb", "create", kb, "--indexing-technique", "economy"]);
});

describe("a sync of 300 files on a slow server", () => {
  test("shows a count that grows, the file and the time left; then only the sum", async () => {
    await write(dir, files(300));
    faults("POST /datasets/*/document/create-by-text delay=300ms");
    const run = onPty("kb", ["sync", kb, dir], env);
    await run.shows(/Uploading {2}\d\d?\/300 files · it\/page-0\d\d\.md/);
    await run.shows(/Uploading {2}1\d\d\/300 files · it\/page-1\d\d\.md · 0:\d\d left/);
    await run.shows(/Uploading {2}2\d\d\/300 files · it\/page-2\d\d\.md · 0:0\d left/);
    expect(await run.exit).toBe(0);
    expect(await run.lines()).toEqual(["300 files: 300 created; 2,290 characters indexed"]);
  }, 60_000);

  test("failures are counted, and listed with whole paths in groups", async () => {
    const long = "policies/human-resources/europe/germany/parental-leave/application-form.md";
    await write(dir, { ...files(3), [long]: "text", "a.png": "x", "b.png": "x", "empty.md": "" });
    faults("POST /datasets/*/document/create-by-text status=400 times=2");
    const run = onPty("kb", ["sync", kb, dir, "--concurrency", "1"], env);
    expect(await run.exit).toBe(10);
    const text = (await run.lines()).join("\n");
    expect(text).toMatch(/^failed {2}2 × /m);
    expect(text.replaceAll(/\n {8}/g, "")).toMatch(/it\/page-001\.md, ?it\/page-002\.md$/m);
    expect(text).toContain("failed  empty.md: the file is empty");
    expect(text).toContain("skip    2 × unsupported file type: a.png, b.png");
    expect(text).toContain("7 files: 2 created, 2 skipped, 3 failed; ");
    expect(text).toMatch(/^error: failed to sync 3 of 7 files$/m);
    expect(text).toContain("hint: fix them and run the command again");
    expect(await namesOf(kb)).toHaveLength(2);
  });
});

test("before a delete is confirmed, nothing says that it happens", async () => {
  await write(dir, files(1));
  await server.cli(["kb", "sync", kb, dir]);
  faults("GET /datasets/*/documents/* delay=1500ms");
  const run = onPty("kb", ["doc", "delete", kb, "it/page-001.md"], env);
  await run.shows(/Reading document it\/page-001\.md from knowledge base/);
  await run.shows(/Delete document it\/page-001\.md/);
  run.type("n\r");
  expect(await run.exit).toBe(2);
});

describe("Ctrl-C", () => {
  test("tells how many files were uploaded, and they are on the server", async () => {
    await write(dir, files(18));
    faults("POST /datasets/*/document/create-by-text delay=1500ms");
    const run = onPty("kb", ["sync", kb, dir], env);
    await run.shows(/Uploading {2}6\/18 files/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    // Requests for further files were on their way, unless they were just about to be sent.
    const [, uploaded, unknown = "0"] =
      /^error: interrupted: (\d+) of 18 files uploaded(?:, (\d+) more changes? may have been made)?$/m.exec(
        text,
      ) ?? [];
    const applied = unknown === "0" ? "some changes were made" : "the change may have been applied";
    expect(text).toContain(applied);
    expect(text).toContain("hint: run the same command again to resume");
    const stored = (await namesOf(kb)).length;
    expect(Number(uploaded), text).toBeGreaterThanOrEqual(6);
    expect(stored, text).toBeGreaterThanOrEqual(Number(uploaded));
    expect(stored, text).toBeLessThanOrEqual(Number(uploaded) + Number(unknown));
  });

  test("while documents are indexed: nothing is unknown", async () => {
    await write(dir, files(3));
    faults("GET /datasets/*/documents delay=300ms");
    const slow = await testSandbox({ speed: 0.02 });
    await slow.cli(["kb", "create", kb, "--indexing-technique", "economy"]);
    const run = onPty("kb", ["sync", kb, dir], { ...env, ...slow.env });
    await run.shows(/Indexing {2}0\/3 documents/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    expect(text).toContain("error: interrupted: 3 of 3 files uploaded\n");
    expect(text).toContain("some changes were made");
    expect(text).not.toContain("may have been");
  });

  test("in an export: how many documents were downloaded", async () => {
    await write(dir, files(3));
    await server.cli(["kb", "sync", kb, dir]);
    faults("POST /datasets/*/documents/download-zip delay=9s");
    const run = onPty("kb", ["export", kb, `${dir} export`], env);
    await run.shows(/Downloading {2}0\/3 documents/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    expect(text).toContain("error: interrupted: 0 of 3 documents downloaded");
    expect(text).not.toMatch(/may have been|changes were made/);
  });

  test("in an idle --watch: stopped", async () => {
    await write(dir, files(2));
    const run = onPty("kb", ["sync", kb, dir, "--watch"], env);
    await run.shows(/press Ctrl-C to stop/);
    run.type(ctrlC);
    expect(await run.exit).toBe(130);
    const text = (await run.lines()).join("\n");
    expect(text).toMatch(/stopped$/);
    expect(text).not.toMatch(/interrupted|may have been|changes were made/);
  });
});

test("--watch prints the changes of a sync before its summary", async () => {
  await write(dir, files(1));
  const run = onPty("kb", ["sync", kb, dir, "--watch"], env);
  await run.shows(
    /^create {2}it\/page-001\.md\n1 file: 1 created; [^\n]+\nwatching [^]+ press Ctrl-C to stop\n/m,
  );
  await write(dir, { "new.md": "new" });
  await run.shows(/^create {2}new\.md\n2 files: 1 created, 1 unchanged; 3 characters indexed\n/m);
  run.type(ctrlC);
  expect(await run.exit).toBe(130);
});

test("an idle --watch shows no count of the sync before", async () => {
  await write(dir, files(1));
  faults("POST /datasets/*/document/create-by-text delay=1500ms");
  const run = onPty("kb", ["sync", kb, dir, "--watch"], env);
  await run.shows(/press Ctrl-C to stop/);
  await write(dir, { "new.md": "new" });
  await run.shows(/Uploading {2}0\/1 files/);
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

describe("every slow command counts", () => {
  const lines = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `${line(index + 1)}\n`).join("");

  /** Command, fault, and what the terminal shows meanwhile. */
  test.each<[string, () => Promise<readonly string[]>, string, RegExp]>([
    [
      "export",
      async () => ["export", kb, `${dir} export`],
      "POST /datasets/*/documents/download-zip delay=4500ms",
      /Downloading {2}0\/8 documents/,
    ],
    [
      "verify",
      async () => ["verify", kb, kb],
      "POST /datasets/*/documents/download-zip delay=4500ms",
      /Comparing {2}0\/8 documents/,
    ],
    [
      "copy",
      async () => ["copy", kb, "--name", `${kb} copy`],
      "POST /datasets/*/document/create-by-text delay=1500ms",
      /Uploading {2}3\/8 documents/,
    ],
    [
      "eval",
      async () => {
        const path = `${dir} questions.jsonl`;
        const question = (at: number) => JSON.stringify({ question: `q${at}`, text: "text" });
        await writeFile(path, lines(9, question));
        return ["eval", kb, path];
      },
      "POST /datasets/*/retrieve delay=1500ms",
      /Evaluating {2}3\/9 questions/,
    ],
    [
      "tag create --each",
      async () => {
        await writeFile(`${dir} tags.csv`, `name\n${lines(9, (at) => `tag ${number} ${at}`)}`);
        return ["tag", "create", "--each", `${dir} tags.csv`];
      },
      "POST /datasets/tags delay=1500ms",
      /Creating {2}3\/9 rows/,
    ],
    [
      "doc delete of many",
      async () => ["doc", "delete", kb, ...Object.keys(files(8)), "--yes"],
      "DELETE /datasets/*/documents/* delay=1500ms",
      /Deleting {2}3\/8 items/,
    ],
  ])("%s", async (_, prepare, fault, shown) => {
    await write(dir, files(8));
    await server.cli(["kb", "sync", kb, dir]);
    const line = await prepare();
    faults(fault);
    const run = onPty("kb", line, env);
    await run.shows(shown);
    expect(await run.exit, (await run.lines()).join("\n")).toBe(0);
  });
});

describe("--each -o json: what stderr says follows the closing bracket", () => {
  test.each<[string, readonly string[], number, readonly string[]]>([
    ["all rows", [], 0, ["]", "3 of 3 rows done"]],
    [
      "rows that failed",
      ["status=400 skip=2 times=1"],
      10,
      ["]", '{"error":{"code":"partial","message":"2 of 3 rows done, 1 failed"'],
    ],
    [
      "a wrong key",
      ["status=401 skip=2 times=1"],
      4,
      ["]", "2 of 3 rows done, 1 failed", "run the same command again to send"],
    ],
  ])("%s", async (_, fault, exit, end) => {
    const path = `${dir} json.csv`;
    const names = [1, 2, 3].map((at) => `json ${number} ${at}\n`);
    await writeFile(path, `name\n${names.join("")}`);
    faults(...fault.map((how) => `POST /datasets/tags ${how}`));
    const flags = ["--each", path, "--concurrency", "1", "-o", "json"];
    const run = onPty("kb", ["tag", "create", ...flags], env);
    expect(await run.exit).toBe(exit);
    const text = (await run.lines()).join("\n");
    const at = text.lastIndexOf("]");
    expect(text.slice(0, at).match(/"row": \d/g)).toHaveLength(3);
    expect(text.slice(0, at)).not.toMatch(/rows done|error":\{/);
    for (const part of end) expect(text.slice(at).replaceAll("\n", "")).toContain(part);
  });
});
