import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../lib/attempt.ts";
import { isExecutable } from "./runtime.ts";
import { untrustedPart } from "./trusted-path.ts";

/**
 * Lets Node.js 22.8 and later keep what it compiles in the directory `code` of a cache, so that later starts
 * take less time. What is read there is run, so others must not be able to write there.
 */
export function keepCompiledCode(cache: string): void {
  // Node.js 20 has no such cache: loading the module to see that would take 0.15 ms of each start.
  if (isExecutable || process.version.startsWith("v20.")) return; // the executable contains compiled code
  const { enableCompileCache } = process.getBuiltinModule("node:module") as {
    readonly enableCompileCache?: (directory: string) => unknown;
  };
  if (!enableCompileCache) return;
  const directory = attempt(() => privateDirectory(join(cache, "code")));
  if (directory !== undefined) enableCompileCache(directory);
}

/**
 * Returns the real path of a directory that only the user can read and write, and that only the user and root can
 * replace. Creates it and those above it; not by a recursive mkdir, which never returns for a place where
 * nothing can be created, such as /proc/nowhere. Undefined if it is open to others. Throws the system error.
 */
export function privateDirectory(path: string, isSafe = isSafeFromOthers): string | undefined {
  create(path, isSafe);
  const stats = statSync(path);
  // Without rights for others at all: a checkout or an unpacked archive rarely contains such a directory.
  const isPrivate = stats.isDirectory() && (stats.mode & 0o077) === 0;
  return isPrivate && isSafe(path) ? realpathSync(path) : undefined;
}

function create(path: string, isSafe: (directory: string) => boolean): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  create(parent, isSafe);
  if (!isSafe(parent)) throw new Error("nothing is created where others can write");
  mkdirSync(path, { mode: 0o700 });
}

/** Links in directories of others do not do, nor do sticky directories: others can create there what is missing. On Windows, nothing is known. */
function isSafeFromOthers(directory: string): boolean {
  const uid = process.getuid?.();
  return uid !== undefined && untrustedPart(directory, uid, { sticky: false }) === undefined;
}
