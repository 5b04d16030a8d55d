import { readFileSync } from "node:fs";
import { join } from "node:path";
import { directoriesOf } from "../host/directories.ts";
import { version } from "../lib/version.ts";
import { chunkLoader } from "./chunk-loader.ts";
import { compiledStore, isStored } from "./compiled-store.ts";

/**
 * Starts a program of the package: loads the bundle with the code that earlier starts compiled, and stores
 * that of this one. NODE_DISABLE_COMPILE_CACHE=1 prevents both, as in Node.js.
 */
export function start(program: "kb" | "wf"): void {
  const { env } = process;
  const folder = import.meta.dirname;
  const isOff = env["NODE_DISABLE_COMPILE_CACHE"] === "1";
  const build = `${version}-${process.version}-${process.arch}`;
  const store = isOff
    ? undefined
    : compiledStore(join(directoriesOf(env).cache, "compiled", build));
  const compiled = new Map<string, string>();
  const load = chunkLoader(
    {
      folder,
      read: (name) => readFileSync(join(folder, name), "utf8"),
      readCompiled: (name, source) => store?.read(name, source),
    },
    (name, source, { cachedDataRejected }) => {
      if (cachedDataRejected !== undefined || !isStored(name, source)) return;
      // Not after a signal: the second one ends the process at once.
      if (compiled.size === 0) process.once("exit", (code) => code < 128 && store?.write(compiled));
      compiled.set(join(folder, name), source);
    },
  );
  const { main } = load("main.cjs") as typeof import("../main.ts");
  void main(program);
}
