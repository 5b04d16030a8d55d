import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const home = await temporaryDirectory();
const project = join(home, "project");
const outside = join(home, "outside");
const at = (name: string) => join(project, name);
const secret = join(outside, "secret.md");

await mkdir(at("below"), { recursive: true });
await mkdir(outside);
for (const path of [secret, at("below/own.md")]) await writeFile(path, "secret\n");
await symlink(secret, at("link.md"));
await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);

const run = async (line: readonly string[], stdin = "") => {
  const before = server.seen.length;
  const folder = await temporaryDirectory();
  const ran = await server.cli(line, { folder, stdin, env: { KB_APP_KEY: "app-inputs" } });
  const writes = server.seen.slice(before).filter(({ method }) => method !== "GET");
  return { ...ran, writes: writes.length };
};

const inputs = (path: string) => `{ kind: a, name: b, doc: "@${path}" }`;
/** Writes the file that names a path, and returns the command with it. */
const naming: Readonly<Record<string, (path: string) => readonly [text: string, ...string[]]>> = {
  "suite.yaml": (path) => [
    `tests: [{ name: x, inputs: ${inputs(path)} }]`,
    ..."wf test run suite.yaml".split(" "),
  ],
  "turns.yaml": (path) => [
    `tests: [{ name: x, turns: [{ inputs: ${inputs(path)} }] }]`,
    ..."wf test run turns.yaml".split(" "),
  ],
  "defaults.yaml": (path) => [
    `defaults: { inputs: ${inputs(path)} }\ntests: [{ name: x }]`,
    ..."wf test run defaults.yaml".split(" "),
  ],
  "suite.csv": (path) => [
    `name,inputs.kind,inputs.name,inputs.doc\nx,a,b,@${path}`,
    ..."wf test run suite.csv".split(" "),
  ],
  "runs.csv": (path) => [`kind,name,doc\na,b,@${path}\n`, ..."wf run --each runs.csv".split(" ")],
  "runs.jsonl": (path) => [
    `{"kind":"a","name":"b","doc":"@${path}"}`,
    ..."wf run --each runs.jsonl".split(" "),
  ],
  "uploads.csv": (path) => [
    `kb,file\nHandbook,${path}\n`,
    ..."kb doc upload --each uploads.csv".split(" "),
  ],
  "texts.csv": (path) => [
    `kb,name,text-file\nHandbook,a.md,${path}\n`,
    ..."kb doc add --each texts.csv".split(" "),
  ],
  "kb.yaml": (path) => [
    `{ knowledge_base: Handbook, documents: { directory: ${join(path, "..")} } }`,
    ..."kb apply kb.yaml".split(" "),
  ],
};

/** How many requests that change something each command sends, if they are not two: first, and again. */
const sent: Readonly<Record<string, readonly [first: number, again: number]>> = {
  "uploads.csv": [1, 1],
  "texts.csv": [1, 1],
  "kb.yaml": [6, 2],
};

describe.each(Object.entries(naming))("%s", (file, write) => {
  const [first, again] = sent[file] ?? [2, 2];
  const named = async (path: string) => {
    const [text, ...line] = write(path);
    await writeFile(at(file), text);
    return line.map((word) => (word === file ? at(file) : word));
  };

  test("names no file outside its directory, unless --allow-files does", async () => {
    const path = join(project, "../outside/secret.md");
    const refused = await run(await named(path));
    const shown = file === "kb.yaml" ? outside : path;
    const directory = file === "kb.yaml" ? outside : join(path, "..");
    expect(refused.err).toContain(
      `${at(file)} names ${shown}, which is outside the directory of that file`,
    );
    expect(refused.err).toContain(
      `hint: if it is meant to be read, add --allow-files ${directory}\n`,
    );
    expect(refused).toMatchObject({ exit: 2, out: "", writes: 0 });
    const line = [...(await named(path)), "--allow-files", home, "--allow-files", "nowhere"];
    const allowed = await run(line);
    expect(allowed.err).not.toContain("outside the directory");
    expect(allowed.writes).toBe(first);
  });

  test("names files below its directory", async () => {
    const ran = await run(await named(at("below/own.md")));
    expect(ran.err).not.toContain("outside the directory");
    expect(ran.writes).toBe(again);
  });
});

test("a link is what it leads to", async () => {
  await writeFile(at("link.csv"), `kind,name,doc\na,b,@${at("link.md")}\n`);
  const ran = await run(["wf", "run", "--each", at("link.csv")]);
  expect(ran).toMatchObject({ exit: 2, writes: 0 });
  expect(ran.err).toContain(`names ${at("link.md")}, which is outside`);
});

test("rows from stdin name files of the current directory", async () => {
  const rows = (path: string) => `kb,file\nHandbook,${path}\n`;
  const line = ["kb", "doc", "upload", "--each", "-"];
  const refused = await run(line, rows(secret));
  expect(refused).toMatchObject({ exit: 2, writes: 0 });
  expect(refused.err).toContain(`stdin names ${secret}, which is outside`);
  expect(await run(line, rows("README.md"))).toMatchObject({ exit: 0, writes: 1 });
});

test("the command line names what it likes", async () => {
  await writeFile(at("names.csv"), "name\nz\n");
  const line = ["wf", "run", "--each", at("names.csv"), "kind=a", `doc=@${secret}`];
  expect(await run(line)).toMatchObject({ exit: 0 });
  await writeFile(at("kbs.csv"), "kb,name\nHandbook,z.md\n");
  const add = ["kb", "doc", "add", "--each", at("kbs.csv"), "--text-file", secret];
  expect(await run(add)).toMatchObject({ exit: 0, writes: 1 });
});

test("a text input may start with @", async () => {
  const long = `{ name: long, inputs: { query: "@${"x".repeat(5000)}" } }`;
  await writeFile(
    at("text.yaml"),
    `app: echo\ntests: [{ name: nul, inputs: { query: "@\\0" } }, ${long}]`,
  );
  const tested = await server.cli(["wf", "test", "run", at("text.yaml")], { folder: home });
  expect(tested.exit, tested.err).toBe(0);
  await writeFile(at("at.csv"), `query\n@${secret}\n`);
  const line = ["wf", "run", "--each", at("at.csv")];
  const ran = await server.cli(line, { env: { KB_APP_KEY: "app-echo" } });
  expect(ran.exit, ran.err).toBe(0);
});
