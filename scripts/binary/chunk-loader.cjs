// Loads the chunks of the bundle in the single executable, where they are assets and not files, with the
// code that V8 compiled when the executable was built.
"use strict";
const { createRequire } = require("node:module");
const { join } = require("node:path");
const { setFlagsFromString } = require("node:v8");
const { Script } = require("node:vm");

const head = "(function (exports, require, module, __filename, __dirname) {";

/** Compiles a chunk: the body of a CommonJS module. */
const compile = (filename, source, options = {}) =>
  new Script(`${head}${source}\n})`, { filename, ...options });

/**
 * Returns a function that loads a chunk by its name, as `require` does. `folder` is where the chunks believe
 * to be; `read(name)` returns the source of one and `readCompiled(name)` its compiled code, if there is any.
 * `onLoaded(name, script)` is called for each.
 */
function chunkLoader({ folder, read, readCompiled }, onLoaded = () => {}) {
  const modules = new Map();
  const requireElsewhere = createRequire(join(folder, "main.cjs"));
  const requireFrom = (id) =>
    id.startsWith("./")
      ? load(id.slice(2))
      : (process.getBuiltinModule(id) ?? requireElsewhere(id));
  const load = (name) => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(name, module);
    const path = join(folder, name);
    const script = compile(path, read(name), { cachedData: readCompiled(name) });
    onLoaded(name, script);
    script.runInThisContext()(module.exports, requireFrom, module, path, folder);
    return module.exports;
  };
  return load;
}

/** Returns the compiled code of all functions of a chunk: V8 compiles each when it is first called, unless told to. */
function compiledInFull(filename, source) {
  setFlagsFromString("--no-lazy");
  // With an offset, because V8 would return the script as it was compiled before.
  const script = compile(filename, source, { columnOffset: 1 });
  setFlagsFromString("--lazy");
  // The seed that made the code reproducible: V8 refuses code that was compiled with other flags than it has.
  setFlagsFromString("--hash-seed=0");
  return script.createCachedData();
}

module.exports = { chunkLoader, compiledInFull };
