// The main script of the single executable. The files of the bundle are its assets; those whose name
// ends with `.cache` are what V8 compiled of a chunk when the executable was built (compile.cjs).
"use strict";
const { basename, join } = require("node:path");
const sea = require("node:sea");
const { chunkLoader } = require("./chunk-loader.cjs");

const caches = new Set(sea.getAssetKeys().filter((key) => key.endsWith(".cache")));
const load = chunkLoader({
  folder: join(process.execPath, "dist"), // below a file, where nothing else can be
  read: (name) => sea.getAsset(name, "utf8"),
  readCompiled: (name) =>
    caches.has(`${name}.cache`) ? Buffer.from(sea.getRawAsset(`${name}.cache`)) : undefined,
});
// The program that the executable is named after, also through a link: `wf`, otherwise `kb`.
load("main.cjs").main(basename(process.argv0).startsWith("wf") ? "wf" : "kb");
