// Builds kb and wf as one file that needs no Node.js: a Node.js binary that contains the bundle.
//   npm run build:binary                        for this system
//   npm run build:binary -- --target win-x64    for another one; what it builds was never run
// Writes binary/<target>/kb and a link wf: the file looks at the name that it is started by.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build as bundle } from "rolldown";
import { here, nodeFor, nodeVersion, systems } from "./binary/node.mjs";
import { run } from "./npm-package.mjs";
import { prepare, root, tool } from "./prepare.mjs";

/** Marks where Node.js looks for the injected data; fixed by Node.js. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

const [flag, target = here, ...others] = process.argv.slice(2);
if ((flag !== undefined && flag !== "--target") || others.length > 0 || !systems.includes(target)) {
  console.error(`usage: build:binary [--target ${systems.join("|")}]`);
  process.exit(2);
}

const dist = join(root, "dist");
const suffix = target.startsWith("win") ? ".exe" : "";
/** Returns all licenses: of what the bundle contains, and of Node.js. */
function licenses() {
  const node = readFileSync(join(nodeFor(target).folder, "LICENSE"), "utf8");
  const bundled = readFileSync(join(dist, "LICENSES.txt"), "utf8");
  const rule = `\n${"=".repeat(78)}\n`;
  return [bundled, `Node.js ${nodeVersion}\n\n${node}`].join(rule);
}

/** Writes the data to inject, into `folder`. Compiled code is only valid for the system it was made on. */
async function makeBlob(folder) {
  // The main script is one file.
  await bundle({
    input: join(root, "scripts", "binary", "start.cjs"),
    platform: "node",
    logLevel: "silent",
    output: { file: join(folder, "start.cjs"), format: "cjs" },
  });
  const node = nodeFor(here).program;
  const native = target === here;
  const assets = Object.fromEntries(
    // Its folder is what other programs import.
    readdirSync(dist, { withFileTypes: true })
      .flatMap((entry) => (entry.isFile() ? [entry.name] : []))
      .sort()
      .map((name) => [name, join(dist, name)]),
  );
  assets["LICENSES.txt"] = join(folder, "LICENSES.txt");
  writeFileSync(assets["LICENSES.txt"], licenses());
  if (native) {
    const caches = join(folder, "caches");
    mkdirSync(caches);
    const compiler = join(root, "scripts", "binary", "compile.cjs");
    // With a seed that is known, what is compiled has the same bytes each time.
    run("compiling the files", node, ["--hash-seed=1", compiler, dist, caches]);
    for (const name of readdirSync(caches).sort()) assets[name] = join(caches, name);
  }
  // The path of the main script becomes a part of the file, and so would what V8 compiles of it with any seed.
  const config = {
    main: "start.cjs",
    output: "blob",
    disableExperimentalSEAWarning: true,
    assets,
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  run("packing the files", node, ["--experimental-sea-config", "config.json"], { cwd: folder });
  return join(folder, config.output);
}

async function build(folder) {
  const blob = await makeBlob(folder);
  const made = join(root, "binary", target);
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  const [kb, wf] = ["kb", "wf"].map((name) => join(made, `${name}${suffix}`));
  copyFileSync(nodeFor(target).program, kb);
  chmodSync(kb, 0o755);
  // Names of functions for debuggers, 18 MB. Not every machine has the program.
  if (here === target && target.startsWith("linux")) spawnSync("strip", [kb]);
  const args = [kb, "NODE_SEA_BLOB", blob, "--sentinel-fuse", fuse];
  run("injecting the files", tool("postject"), args, { shell: process.platform === "win32" });
  if (suffix === "") symlinkSync("kb", wf);
  else copyFileSync(kb, wf);
  return { made, kb };
}

prepare();
const folder = mkdtempSync(join(tmpdir(), "kb-wf-binary-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const { made, kb } = await build(folder);
const size = `${(statSync(kb).size / 1e6).toFixed(1)} MB`;
if (target === here) console.log(`${run("kb --version", kb, ["--version"])}: ${made}, ${size}`);
else console.log(`${made}, ${size}: built on ${here}, so it was not run`);
