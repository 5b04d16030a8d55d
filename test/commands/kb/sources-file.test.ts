import { readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { spawnChild } from "../../../src/host/child-process.ts";
import { write } from "../../lib/directory.ts";
import { root } from "../../lib/paths.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { syncedBases, textsOf } from "../../lib/synced-base.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";
let file = "";

beforeEach(async () => {
  ({ kb, dir } = await newBase());
  file = join(dir, "sources.yaml");
});

const secret = "correct-horse-battery";
const env = { WIKI_TOKEN: secret };
const run = (...argv: readonly string[]) =>
  server.cli(["kb", ...argv], { folder: home, spawn: spawnChild, env });
const sync = (...flags: readonly string[]) =>
  run("sync", "--config", file, "-o", "jsonl", ...flags);
const sample = join(root, "examples/sources/directory.mjs");
const rowsOf = (out: string) =>
  out
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const { source, action, path } = JSON.parse(line) as Record<string, string>;
      return `${source} ${action} ${path}`;
    });

/** A file with a directory and a program. */
const two = () => `sources:
  handbook:
    kb: ${kb}
    source: handbook
    prune: true
    metadata: { team: people }
  wiki:
    kb: ${kb}
    source: "exec:'${process.execPath}' '${sample}' wiki"
    prefix: wiki
`;

test("syncs all sources of a file, or some, and remembers it", async () => {
  await write(dir, {
    "sources.yaml": two(),
    "handbook/a.md": "a",
    "handbook/b.md": "b",
    "wiki/w.md": "w",
  });
  const all = await sync("--allow-run");
  expect(all.exit, all.err).toBe(0);
  expect(rowsOf(all.out).sort()).toEqual([
    "handbook create a.md",
    "handbook create b.md",
    "wiki create wiki/w.md",
  ]);
  expect(all.err).toContain("handbook: 2 files: 2 created");
  expect(all.err).toContain("wiki: 1 file: 1 created");
  expect(await textsOf(server, kb)).toEqual({ "a.md": "a", "b.md": "b", "wiki/w.md": "w" });
  await write(dir, { "handbook/b.md": null, "wiki/x.md": "x" });
  const planned = await sync("handbook", "--dry-run");
  expect(rowsOf(planned.out)).toEqual(["handbook delete b.md"]);
  const some = await run("sync", "run", "handbook", "--config", file, "--yes");
  expect(some.exit, some.err).toBe(0);
  expect(await textsOf(server, kb)).toEqual({ "a.md": "a", "wiki/w.md": "w" });
  const past = await run(
    "sync",
    "history",
    "--jq",
    `.[] | select(.kb == "${kb}") | [.source, .result] | join(" ")`,
  );
  expect(past.out).toBe("handbook ok\nwiki ok\nhandbook ok\n");
  const one = await run("sync", "history", "--source", "wiki", "--jq", ".[0].note");
  expect(one.out).toContain("1 file: 1 created");
  for (const [name, count] of [
    ["wiki", 1],
    [kb, 3],
    ["nowhere", 0],
  ] as const) {
    const { out } = await run("sync", "history", name, "--jq", "length");
    expect(out, name).toBe(`${count}\n`);
  }
});

test("a source that fails does not stop the others, and is in the report and the exit code", async () => {
  const broken = two()
    .replace("' wiki\"", "' nowhere\"")
    .replace("  handbook:", "  zoo: {kb: no such base, source: handbook, prefix: z}\n  handbook:");
  await write(dir, { "sources.yaml": broken, "handbook/a.md": "a" });
  const ran = await sync("--allow-run");
  expect(ran.exit).toBe(10);
  expect(rowsOf(ran.out)[0]).toBe("zoo failed no such base");
  expect(rowsOf(ran.out)).toContain("handbook create a.md");
  expect(ran.err).toContain("failed to sync 2 of 3 sources: zoo, wiki");
  const past = await run("sync", "history", "--jq", '.[:3][] | [.source, .result] | join(" ")');
  expect(past.out).toBe("wiki failed\nhandbook ok\nzoo failed\n");
});

test("programs run only with --allow-run, and from a file that others cannot change", async () => {
  await write(dir, { "sources.yaml": two(), "handbook/a.md": "a", "wiki/w.md": "w" });
  const refused = await sync();
  expect(refused.exit).toBe(2);
  expect(refused.err).toContain("which needs --allow-run");
  expect(await textsOf(server, kb)).toEqual({});
  await chmod(file, 0o666);
  const open = await sync("--allow-run");
  expect(open.exit).toBe(2);
  expect(open.err).toContain("others can change the file");
  expect((await sync("handbook")).exit).toBe(0);
});

test("secrets come from variables and commands, and are in no output", async () => {
  const code =
    "console.log(JSON.stringify({path:'a.md',fingerprint:process.env.TOKEN+process.env.KB_KEY}));console.error(process.env.TOKEN);process.exitCode=3";
  const text = (from: string) => `sources:
  wiki:
    kb: ${kb}
    source: exec:${process.execPath} program.mjs
    env: { TOKEN: ${from} }
`;
  await write(dir, { "program.mjs": code });
  for (const from of ["{ variable: WIKI_TOKEN }", `{ command: echo ${secret} }`]) {
    await write(dir, { "sources.yaml": text(from) });
    const ran = await sync("--allow-run", "-vv");
    expect(ran.exit).toBe(10);
    expect(ran.out + ran.err).toContain("ended with exit code 3: ****");
    expect(ran.out + ran.err).not.toContain(secret);
  }
  const history = await run("sync", "history");
  expect(history.out).not.toContain(secret);
  await write(dir, { "sources.yaml": text("{ variable: NOT_SET }") });
  expect((await sync("--allow-run")).err).toContain("the variable NOT_SET is not set");
});

test.each([
  ["sources: [a]\n", "expected a mapping `sources`"],
  ["sources:\n  a: {kb: x}\n", "a: source is missing"],
  ["sources:\n  a: {kb: x, source: y, prunes: true}\n", "a: unknown key"],
  ["sources:\n  a: {kb: x, source: y, prune: maybe}\n", "a: prune"],
  ["sources:\n  a: {kb: x, source: y, authorization: hunter2}\n", "never a value in the file"],
  [
    "sources:\n  a: {kb: x, source: y}\n  b: {kb: x, source: z}\n",
    "a and b are directories with the same prefix",
  ],
  ["sources:\n  a: {kb: x, source: y\n", "line"],
  ["sources:\n  a: {kb: x, source: ../..}\n", "which is outside the directory of that file"],
])("a wrong file is a usage error: %j", async (text, message) => {
  await write(dir, { "sources.yaml": text });
  const ran = await sync();
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(message);
  expect(ran.err).not.toContain("hunter2");
});

test("a name that the file does not have is a usage error", async () => {
  await write(dir, { "sources.yaml": two() });
  const ran = await sync("nobody");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("has no source nobody");
});

test.each([
  ["crontab", /(kb sync --config [^']*)'/],
  ["kb-sync.service", /ExecStart=(.*)/],
  ["github-actions.yml", /run: (kb sync .*)/],
])("the line of examples/sources/%s syncs a file of sources", async (name, pattern) => {
  await write(dir, { "sources.yaml": two(), "handbook/a.md": "a", "wiki/w.md": "w" });
  const text = readFileSync(join(root, "examples/sources", name), "utf8");
  const line = text.match(new RegExp(pattern, "m"))?.[1] ?? "";
  const [program, ...words] = line
    .split(" ")
    .map((word) => (word === "sources.yaml" ? file : word));
  expect(program).toBe("kb");
  const ran = await run(...words);
  expect(ran.exit, ran.err).toBe(0);
  expect(await textsOf(server, kb)).toEqual({ "a.md": "a", "wiki/w.md": "w" });
});

test("the example of a file syncs the handbook", async () => {
  await run("create", "Handbook", "--indexing-technique", "economy", "--if-not-exists");
  const example = join(root, "examples/sources/sources.yaml");
  const near = await run("sync", "--config", example);
  expect(near.err).toContain("add --allow-files");
  const ran = await run("sync", "--config", example, "--allow-files", join(root, "examples"));
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain("handbook: 14 files: 14 created");
});
