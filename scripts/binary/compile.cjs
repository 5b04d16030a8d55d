// Writes what V8 compiles of each chunk, so that the executable need not compile it at each start.
//   node compile.cjs DIST OUT
"use strict";
const { readFileSync, readdirSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { compiledInFull } = require("./chunk-loader.cjs");

const [, , dist, out] = process.argv;
// Names without a hash are entries: the first one is short, and the others run in threads.
for (const name of readdirSync(dist).filter((file) => /-[a-z0-9]{8}\.cjs$/.test(file))) {
  const code = compiledInFull(name, readFileSync(join(dist, name), "utf8"));
  writeFileSync(join(out, `${name}.cache`), code);
}
