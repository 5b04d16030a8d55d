// Loaded before a program: notes its call stack when a line is parsed, a request is sent and output is written.
// Writes them to the file of WALK_TO at the exit.
const { channel } = require("node:diagnostics_channel");
const fs = require("node:fs");
const Module = require("node:module");

Error.stackTraceLimit = Infinity;
const stacks = [];
const note = (moment) => stacks.push({ moment, stack: `${new Error(moment).stack}` });

channel("undici:request:create").subscribe(() => note("send"));

const { writeSync, writeFileSync } = fs;
fs.writeSync = (descriptor, ...rest) => {
  if (descriptor === 1) note("print");
  return writeSync(descriptor, ...rest);
};

const { _load: load } = Module;
Module._load = function (...args) {
  const loaded = load.apply(this, args);
  if (!/commander/.test(args[0])) return loaded;
  const { prototype } = loaded.require_command?.().Command ?? loaded.Command ?? {};
  if (!prototype || prototype.isProbed) return loaded;
  const { parseOptions } = prototype;
  Object.assign(prototype, {
    isProbed: true,
    parseOptions(...given) {
      note("parse");
      return parseOptions.apply(this, given);
    },
  });
  return loaded;
};

process.on("exit", () => writeFileSync(process.env.WALK_TO, JSON.stringify(stacks)));
