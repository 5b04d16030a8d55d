import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { helpPages } from "../../scripts/reference/help-pages.ts";
import { onPty } from "../lib/pty.ts";
import { rareTest, sampled } from "../lib/sampled.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const bin = (program: string) => join(root, "bin", `${program}.js`);
const living = new Set<ChildProcess>();
afterAll(() => {
  for (const child of living) child.kill("SIGKILL");
});

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly node?: readonly string[];
}

let folder = "";
let sandbox = { base_url: "", key: "" };

/** Starts a built program without any settings of the machine. */
function start([program = "kb", ...args]: readonly string[], { env, node = [] }: Options = {}) {
  const child = spawn(process.execPath, [...node, bin(program), ...args], {
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      KB_BASE_URL: sandbox.base_url,
      KB_KEY: sandbox.key,
      KB_PROFILE: "sandbox",
      ...env,
    },
  });
  living.add(child);
  child.on("exit", () => living.delete(child));
  return child;
}

/** Runs it until it exits. */
function run(argv: readonly string[], options: Options = {}) {
  const child = start(argv, options);
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk.toString()));
  child.stdin.end(options.stdin ?? "");
  return new Promise<{ exit: number | null; out: string; err: string }>((resolve) => {
    child.on("close", (exit) => resolve({ exit, out: out.join(""), err: err.join("") }));
  });
}

/** Resolves when the output of a child contains the text. */
const shows = (child: ReturnType<typeof start>, stream: "stdout" | "stderr", wanted: string) =>
  new Promise<string>((resolve, reject) => {
    let text = "";
    child[stream].on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes(wanted)) resolve(text);
    });
    child.on("close", (code) => reject(new Error(`ended with ${code} before ${wanted}: ${text}`)));
  });

async function startSandbox(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = start(["kb", "sandbox", "-o", "json", ...args], { env });
  const line = await shows(child, "stdout", "}\n");
  const address = JSON.parse(line) as { base_url: string; key: string };
  return { child, address };
}

beforeAll(async () => {
  folder = await temporaryDirectory();
  sandbox = (await startSandbox(["--ephemeral"])).address;
});

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));

test("--version prints program, version, Node and platform", async () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    version: string;
  };
  const ran = await run(["wf", "--version"]);
  expect(ran).toEqual({
    exit: 0,
    out: `wf ${version} (node ${process.version} ${process.platform}-${process.arch})\n`,
    err: "",
  });
});

type Ending = readonly [
  exit: number,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
];
const endings: readonly Ending[] = [
  [0, ["kb", "tag", "list"], {}],
  [2, ["kb", "tag", "rename"], {}],
  [3, ["kb", "show", "nobody"], {}],
  [4, ["kb", "list"], { KB_KEY: "dataset-wrong" }],
  [6, ["wf", "run", "--input", "query=x"], { KB_APP: "chat" }],
  [9, ["wf", "--app", "broken", "run", "--input", "query=x"], {}],
  [8, ["wf", "--app", "review", "run", "--input", "query=x"], {}],
  [11, ["kb", "list", "--retries", "0"], { KB_BASE_URL: "http://127.0.0.1:9" }],
  [12, ["wf", "--app", "slow", "run", "--input", "query=x", "--timeout", "1s"], {}],
];

test.each(sampled(6, endings))("exit code %d from %j", async (exit, argv, env) => {
  const ran = await run(argv, { env });
  expect(ran.exit, ran.err).toBe(exit);
});

test("--text-file - reads stdin", async () => {
  await run(["kb", "create", "Stdin", "--indexing-technique", "economy"]);
  const ran = await run(["kb", "doc", "add", "Stdin", "a.md", "--text-file", "-", "-o", "json"], {
    stdin: "grüße 世界",
  });
  expect(ran.exit, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({
    document: { name: "a.md", data_source_detail_dict: { upload_file: { size: 8 } } },
  });
});

test("a closed pipe ends a list with 0 and no message", async () => {
  const child = start(["kb", "list", "--all", "-o", "jsonl"]);
  child.stdout.destroy();
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  expect(await ended(child)).toBe(0);
  expect(err).toBe("");
});

test("Ctrl-C stops following a run: 130, and how to resume", async () => {
  const child = start([
    "wf",
    "--app",
    "slow",
    "run",
    "--input",
    "query=x",
    "--input",
    "seconds=30",
  ]);
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  await shows(child, "stdout", "Wait");
  child.kill("SIGINT");
  expect(await ended(child)).toBe(130);
  expect(err).toMatch(/wf events [0-9a-f-]{36} --follow/);
});

test("sandbox -- COMMAND exits with the code of the command and puts kb and wf in its PATH", async () => {
  const ran = await run([
    "kb",
    "sandbox",
    "--ephemeral",
    "--",
    "sh",
    "-c",
    "kb tag create A -o name >/dev/null && kb tag list --jq '.[].name'; exit 7",
  ]);
  expect(ran).toMatchObject({ exit: 7, out: "A\n" });
});

rareTest("a shell in a sandbox says what it is for, and how to leave", async () => {
  const shell = onPty("kb", ["sandbox", "--ephemeral", "--", "sh"], { HOME: folder });
  await shell.shows(/try `kb list` or `wf run --app echo`; exit ends it/);
  shell.type("exit 3\r");
  expect(await shell.exit).toBe(3);
});

rareTest(
  "a killed sandbox keeps confirmed writes, and restarts with the same directory",
  async () => {
    const data = join(folder, "kept");
    const first = await startSandbox(["--data", data]);
    const made = await run(["kb", "create", "Kept", "-o", "name"], {
      env: { KB_BASE_URL: first.address.base_url },
    });
    expect(made.exit, made.err).toBe(0);
    const second = await run(["kb", "sandbox", "--data", data]);
    expect(second.exit).not.toBe(0);
    expect(second.err).toContain(String(first.child.pid));
    first.child.kill("SIGKILL");
    await ended(first.child);
    const again = await startSandbox(["--data", data]);
    const listed = await run(["kb", "show", "Kept", "-o", "name"], {
      env: { KB_BASE_URL: again.address.base_url },
    });
    expect(listed.out).toBe(made.out);
  },
);

// Loaded files determine the start-up time. scripts/chunks.mjs decides what is in each chunk of dist, which
// is named after it and its content.
const hook = `
const Module = require("node:module");
const vm = require("node:vm");
const { appendFileSync } = require("node:fs");
const log = (file) => appendFileSync(process.env.LOADED, file + "\\n");
const load = Module._load;
Module._load = function (id, parent, ...rest) {
  log(Module._resolveFilename(id, parent));
  return load.call(this, id, parent, ...rest);
};
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    log(options.filename);
  }
};`;

async function loaded(argv: readonly string[], env: Options["env"] = {}): Promise<string[]> {
  const path = join(folder, "hook.cjs");
  const log = join(folder, `loaded-${argv.join("-").replace(/\W+/g, "-")}`);
  writeFileSync(path, hook);
  writeFileSync(log, "");
  await run(argv, { env: { ...env, LOADED: log }, node: ["--require", path] });
  return readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((file) => file.replace(/^.*\/(dist|node_modules)\//, ""));
}

/** Chunks of heavy packages; agent is the part of undici that requests need. */
const heavy =
  /^(agent|conf|undici|dist|source|ora|cli-table3|sync|jq-wasm|node-sqlite3-wasm|keyring|@napi-rs)\b/;

/** Modules of Node that take milliseconds to load. */
const slow = /^(node:)?(crypto|fs\/promises|https?|net|readline|stream|worker_threads|zlib)$/;

const chunksIn = (files: readonly string[]): readonly string[] => [
  ...new Set(files.flatMap((file) => /^([\w-]+?)(-[a-z0-9]{8})?\.cjs$/.exec(file)?.[1] ?? [])),
];

test.each([
  ["kb --version", []],
  ["wf --version", []],
  ["kb --help", []],
  ["kb create -h", []],
  ["wf logs export --help", []],
  ["kb create --nmae x", ["core", "knowledge"]],
  ["kb create A --dry-run", ["core", "knowledge", "execute"]],
])("%s loads only the entry and %j, and no slow module of Node", async (line, wanted) => {
  const files = await loaded(line.split(" "));
  expect(chunksIn(files)).toEqual(["main", "rolldown-runtime", "ready", ...wanted]);
  expect(files.filter((file) => slow.test(file))).toEqual([]);
});

test.each(["kb", "wf"] as const)("the build wrote the help pages of %s", async (program) => {
  const written = readFileSync(join(root, "dist", `help-${program}.txt`), "utf8");
  expect(written).toBe(await helpPages(program));
});

test.each([
  ["kb list", ["knowledge", "execute", "output", "client", "agent"]],
  ["wf app site", ["wf-rows", "command", "execute", "output", "client", "agent"]],
])("%s loads only the core and %j", async (line, wanted) => {
  const files = await loaded(line.split(" "));
  expect(chunksIn(files)).toEqual(["main", "rolldown-runtime", "ready", "core", ...wanted]);
});

test("a directory named compiled in the cache, which earlier versions made, is left alone", async () => {
  const cache = join(folder, "cache-of-code");
  const theirs = join(cache, "compiled", "precious");
  mkdirSync(theirs, { recursive: true });
  writeFileSync(join(theirs, "thesis.txt"), "data");
  utimesSync(theirs, 0, 0);
  const ran = await run(["kb", "list", "-o", "name"], { env: { KB_CACHE_DIR: cache } });
  expect(ran).toMatchObject({ exit: 0, err: "" });
  expect(readFileSync(join(theirs, "thesis.txt"), "utf8")).toBe("data");
});

test("a cache that cannot be written changes nothing", async () => {
  const file = join(folder, "not-a-directory");
  writeFileSync(file, "");
  const ran = await run(["kb", "create", "A", "--dry-run"], { env: { KB_CACHE_DIR: file } });
  expect(ran).toMatchObject({ exit: 0, err: "" });
});

test.each([
  [["kb", "profile", "list"], []],
  [["kb", "login", "x", "--key-command", "true", "--no-check"], ["conf"]],
])("%j loads only these heavy packages: %j", async (argv, wanted) => {
  const found = (await loaded(argv))
    .map((file) => heavy.exec(file)?.[0])
    .filter((name) => name !== undefined);
  expect([...new Set(found)]).toEqual(wanted);
});

test.concurrent.each(sampled(3, [[[]], [["--only", "node_started,node_finished"]]]))(
  "a pipe that is closed early fails a gate, with %j",
  async (flags) => {
    const line = "--app slow run --input query=x --input seconds=15 --detach -o name";
    const { out } = await run(["wf", ...line.split(" ")]);
    const argv = ["events", out.trim(), "--expect", "no errors", "-o", "jsonl", ...flags];
    const child = start(["wf", "--app", "slow", ...argv]);
    child.stdout.once("data", () => child.stdout.destroy());
    const said = shows(child, "stderr", "the expectations were not checked: the output was not");
    expect(await ended(child)).toBe(14);
    await said;
  },
);
