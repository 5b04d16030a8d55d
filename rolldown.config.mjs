import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { defineConfig } from "rolldown";
import { builtPages } from "./scripts/built-pages.mjs";
import { groups } from "./scripts/chunks.mjs";
import { licences } from "./scripts/licences.mjs";
import { plainModules } from "./scripts/plain-modules.mjs";
import { rawText } from "./scripts/raw-text.mjs";
import { replaced, replacedModules } from "./scripts/replaced.mjs";

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

// Each is one file, since the single executable starts threads from a text: others would share a chunk.
const workers = [
  "src/commands/kb/sources/site-worker.mjs",
  "src/output/formats/jq-worker.mjs",
  "src/sandbox/readers/pdf-worker.mjs",
].map((input, index) =>
  defineConfig({
    input,
    platform: "node",
    plugins: [licences],
    output: {
      dir: "dist",
      format: "cjs",
      entryFileNames: "[name].cjs",
      minify: true,
      charset: "ascii",
      cleanDir: index === 0,
    },
  }),
);

// Chunks keep the lazy parts lazy. What every command needs is one file: reading thirty small ones
// costs more than the rest of a start. Nothing is left to be installed: the programs work offline.
const programs = defineConfig({
  input: {
    main: "src/main.ts",
    // What tests of other programs import: `kb-wf/sandbox`.
    sandbox: "src/library/sandbox.ts",
    "keyring-child": "src/host/keyring-child.ts",
  },
  platform: "node",
  // The index files of features only re-export: a command loads the files that it uses, not all of them.
  treeshake: { moduleSideEffects: [{ test: /src\/commands\/.*\/index\.ts$/, sideEffects: false }] },
  external: ["@napi-rs/keyring"], // optional, and looks for its binary beside itself
  plugins: [
    replacedModules(),
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

// What other programs import: the client, without anything of the command line, as plain ES modules, which other
// bundlers can take in.
const client = defineConfig({
  input: "src/library/index.ts",
  platform: "node",
  resolve: { mainFields: ["module", "main"] },
  plugins: [
    replacedModules(
      replaced.filter(([, by]) => by.startsWith("/undici/")),
      "js",
    ),
    plainModules,
  ],
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

export default [...workers, programs, client]; // the first one empties dist
