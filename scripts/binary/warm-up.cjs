// Runs everyday commands against a sandbox in this process, then writes what V8 has compiled of each chunk:
// code that ran is compiled in full, so the executable need not compile it at each start.
//   node warm-up.cjs DIST OUT
"use strict";
const { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { chunkLoader, compile } = require("./start.cjs");

const [, , dist, out] = process.argv;

/** Commands, and their exit codes if not 0. */
const lines = [
  ["kb --version"],
  ["wf --version"],
  ["kb help"],
  ["kb create --help"],
  ["wf run --help"],
  ["kb crate Handbook", 2],
  ["kb create Handbook --indexing-technique economy --dry-run"],
  ["kb create Handbook --indexing-technique economy"],
  ["kb doc add Handbook lunch.md --text Lunch"],
  ["kb doc wait Handbook"],
  ["kb list"],
  ["kb list -o json"],
  ["kb list -o grid"],
  ["kb doc list Handbook --all -o jsonl"],
  ["kb search Handbook lunch"],
  ["kb show Handbook"],
  ["kb show Cookbook", 3],
  ["kb tag create draft"],
  ["wf app info"],
  ["wf run query=hello"],
  ["wf run query=hello -o json"],
  ["wf logs"],
];

const home = mkdtempSync(join(tmpdir(), "kb-wf-warm-up-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
for (const kind of ["CONFIG", "STATE", "DATA", "CACHE"]) process.env[`KB_${kind}_DIR`] = home;
process.setMaxListeners(0); // each command listens to signals

const scripts = new Map();
const files = {
  folder: dist,
  read: (name) => readFileSync(join(dist, name), "utf8"),
  readCache: () => undefined,
};
const load = chunkLoader(files, (name, script) => scripts.set(name, script));
const { main } = load("main.cjs");

/** What the commands wrote to stdout and stderr. */
let written = "";
let onWritten = () => {};
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (text, ...others) => {
    written += text;
    onWritten();
    others.find((other) => typeof other === "function")?.();
    return true;
  };
}
const exit = process.exit.bind(process);

/** Starts a command and resolves to its exit code. */
function command(line) {
  const [program, ...words] = line.split(" ");
  process.argv = [process.execPath, program, ...words];
  return new Promise((resolve, reject) => {
    process.exit = resolve;
    main(program).catch(reject);
  });
}

/** Starts a sandbox and resolves to its address and keys. */
const sandbox = () =>
  new Promise((resolve) => {
    onWritten = () => {
      const end = written.indexOf("}\n");
      if (end >= 0) resolve(JSON.parse(written.slice(0, end + 1)));
    };
    void command("kb sandbox --ephemeral -q -o jsonl");
  });

async function warmUp() {
  const { base_url, key, profile } = await sandbox();
  onWritten = () => {};
  Object.assign(process.env, { KB_BASE_URL: base_url, KB_KEY: key, KB_PROFILE: profile });
  for (const [line, expected = 0] of lines) {
    written = "";
    const code = await command(line);
    if (code !== expected) throw new Error(`${line}: exit code ${code}\n${written}`);
  }
  for (const name of readdirSync(dist).filter((file) => file.endsWith(".cjs"))) {
    const script = scripts.get(name) ?? compile(name, files);
    writeFileSync(join(out, `${name}.cache`), script.createCachedData());
  }
}

warmUp().then(
  () => exit(0),
  (error) => {
    process.stderr.write = Object.getPrototypeOf(process.stderr).write;
    process.stderr.write(`${error.stack}\n`, () => exit(1));
  },
);
