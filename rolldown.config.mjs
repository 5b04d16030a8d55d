import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { defineConfig } from "rolldown";
import { builtPages } from "./scripts/built-pages.mjs";
import { groups } from "./scripts/chunks.mjs";
import { licences } from "./scripts/licences.mjs";
import { rawText } from "./scripts/raw-text.mjs";

/** In the single executable there is no folder: the .wasm is an asset (scripts/binary). */
const ownWasm = `(sea => sea.isSea()
  ? { wasmBinary: sea.getRawAsset("node-sqlite3-wasm.wasm") }
  : {})(require("node:sea"))`;

/** Replaces a text that must be there once. */
function replaceOnce(code, from, to) {
  const parts = code.split(from);
  if (parts.length !== 2) throw new Error(`expected once: ${from}`);
  return parts.join(to);
}

const sqlite = dirname(createRequire(import.meta.url).resolve("node-sqlite3-wasm"));

/** Modules that a package imports, and what it gets instead. */
const replaced = [
  // It would take 4 ms to load, for subcommands that are separate programs.
  ["node:child_process", "commander", "{}"],
  // Help has texts of our own (src/cli/help).
  ["/help.js", "commander", "{ Help: class {}, stripColor: (text) => text }"],
  // We send HTTP/1.1: undici would load HTTP/2, TLS and cryptography for plain HTTP as well, 15 ms.
  ["./client-h2.js", "undici/lib/dispatcher/client.js", "() => { throw Error('HTTP/2'); }"],
  // 5 ms, for one number and one class that only callers with servers of their own have.
  ["node:http", "undici/lib/dispatcher/client.js", "{ maxHeaderSize: 16384 }"],
  ["node:http", "undici/lib/core/util.js", "{}"],
  // conf's dependency removes its temporary files on exit; src/host/node-files.ts does so itself. It listens to
  // twenty signals from its import on, and raises each one again: Ctrl-C would count twice, and a limit on the
  // size of files would kill the process.
  ["when-exit", "atomically", "() => {}"],
  // Colors of borders, which our tables do not have: 8 ms to load.
  ["@colors/colors/safe", "cli-table3", "{}"],
  // It would take 0.1 ms a cell. Tables are laid out with ASCII and \0 (src/output/table/draw-table.ts).
  ["string-width", "cli-table3", "(text) => text.replaceAll('\\0', '').length"],
];

const replacedModules = {
  name: "replaced-modules",
  resolveId(id, importer) {
    const index = replaced.findIndex(([name, by]) => id.endsWith(name) && importer?.includes(by));
    return index < 0 ? null : `\0replaced-${index}`;
  },
  load(id) {
    const [, index] = /^\0replaced-(\d+)$/.exec(id) ?? [];
    return index === undefined ? null : `module.exports = ${replaced[index][2]};`;
  },
};

// One file, since the single executable starts threads from a text: its packages would share a chunk.
const siteWorker = defineConfig({
  input: "src/commands/kb/sources/site-worker.mjs",
  platform: "node",
  plugins: [licences],
  output: {
    dir: "dist",
    format: "cjs",
    entryFileNames: "[name].cjs",
    minify: true,
    charset: "ascii",
    cleanDir: true,
  },
});

// Chunks keep the lazy parts lazy. What every command needs is one file: reading thirty small ones
// costs more than the rest of a start. Nothing is left to be installed: the programs work offline.
const programs = defineConfig({
  input: {
    main: "src/main.ts",
    // What tests of other programs import: `kb-wf/sandbox`.
    sandbox: "src/library/sandbox.ts",
    "keyring-child": "src/host/keyring-child.ts",
    "jq-worker": "src/output/formats/jq-worker.mjs",
    "pdf-worker": "src/sandbox/readers/pdf-worker.mjs",
  },
  platform: "node",
  // The index files of features only re-export: a command loads the files that it uses, not all of them.
  treeshake: { moduleSideEffects: [{ test: /src\/commands\/.*\/index\.ts$/, sideEffects: false }] },
  external: ["@napi-rs/keyring"], // optional, and looks for its binary beside itself
  plugins: [
    replacedModules,
    {
      name: "sqlite-beside-the-bundle", // it looks for its .wasm in the folder of the running file
      transform: {
        filter: { id: /node-sqlite3-wasm\.js$/ },
        handler: (code) => replaceOnce(code, 'typeof Module!="undefined"?Module:{}', ownWasm),
      },
      generateBundle() {
        const fileName = "node-sqlite3-wasm.wasm";
        this.emitFile({ type: "asset", fileName, source: readFileSync(join(sqlite, fileName)) });
      },
    },
    rawText,
    licences,
    builtPages,
  ],
  output: {
    dir: "dist",
    // Node starts a CommonJS program 10 ms sooner than an ES module.
    format: "cjs",
    entryFileNames: "[name].cjs",
    // `require` also for what Node has built in: the single executable has no `import()`.
    dynamicImportInCjs: false,
    minify: true, // 4 ms less to read at each start
    charset: "ascii", // other characters make V8 store a chunk in two bytes each, and collect garbage
    // By their content: a program that runs during an update never loads a chunk of the other version.
    chunkFileNames: "[name]-[hash].cjs",
    hashCharacters: "base36",
    codeSplitting: {
      groups,
    },
  },
});

// What other programs import: the client, without anything of the command line.
const client = defineConfig({
  input: "src/library/index.ts",
  platform: "node",
  plugins: [replacedModules],
  output: {
    dir: "dist/library",
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
    // Names stay: they are in the stack traces of others.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    cleanDir: true,
  },
});

export default [siteWorker, programs, client]; // the first one empties dist
