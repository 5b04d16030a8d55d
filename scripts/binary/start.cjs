// The main script of the single executable. The files of the bundle are its assets; those whose name
// ends with `.cache` are what V8 compiled of a chunk when the executable was built (warm-up.cjs).
"use strict";
const { basename, join } = require("node:path");
const sea = require("node:sea");
const { Script } = require("node:vm");

const head = "(function (exports, require, module, __filename, __dirname) {";

/** Compiles a chunk: `read` returns its source, `readCache` its compiled code or undefined. */
const compile = (name, { folder, read, readCache }) =>
  new Script(`${head}${read(name)}\n})`, {
    filename: join(folder, name),
    cachedData: readCache(name),
  });

/**
 * Returns a function that loads a chunk by its name, as `require` does. `files` says how to read, and
 * `folder` which directory the chunks believe to be in; `onCompiled` gets each name and script.
 */
function chunkLoader(files, onCompiled = () => {}) {
  const modules = new Map();
  const load = (name) => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(name, module);
    const script = compile(name, files);
    onCompiled(name, script);
    const requireFrom = (id) => (id.startsWith("./") ? load(id.slice(2)) : require(id));
    const { folder } = files;
    script.runInThisContext()(module.exports, requireFrom, module, join(folder, name), folder);
    return module.exports;
  };
  return load;
}

/** Runs the program that the executable is named after, also through a link: `wf`, otherwise `kb`. */
function start() {
  const caches = new Set(sea.getAssetKeys().filter((key) => key.endsWith(".cache")));
  const load = chunkLoader({
    folder: join(process.execPath, "dist"), // below a file, where nothing else can be
    read: (name) => sea.getAsset(name, "utf8"),
    readCache: (name) =>
      caches.has(`${name}.cache`) ? Buffer.from(sea.getRawAsset(`${name}.cache`)) : undefined,
  });
  load("main.cjs").main(basename(process.argv0).startsWith("wf") ? "wf" : "kb");
}

if (sea.isSea()) start();
else module.exports = { chunkLoader, compile };
