import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { attempt } from "../lib/attempt.ts";
import { optimizingFlags } from "../lib/v8-flags.ts";
import { compile } from "./chunk-loader.ts";

/** Shorter chunks are compiled in less time than another file is read. */
const SHORTEST = 4096;

/** Names without a hash of the content are those of the entries, which are short. */
const hashed = /-[a-z0-9]{8}\.cjs$/;

/** Whether the compiled code of a chunk is worth storing. */
export const isStored = (name: string, source: string): boolean =>
  source.length >= SHORTEST && hashed.test(name);

/**
 * What V8 compiled of the chunks, in a directory of the user's cache. A start without it takes longer and gives
 * the same: nothing fails if the directory cannot be read or written. V8 checks that code was compiled by
 * its own version for this processor; the name of a chunk has the hash of its content.
 */
export interface CompiledStore {
  /** Returns the compiled code of a chunk; undefined if there is none. */
  read(name: string, source: string): Uint8Array | undefined;
  /** Compiles chunks in full and stores them; their sources by path. */
  write(sources: ReadonlyMap<string, string>): void;
}

/** The store in a directory, which is created by the first write. */
export function compiledStore(folder: string): CompiledStore {
  let trusted: boolean | undefined;
  return {
    read(name, source) {
      if (!isStored(name, source) || !(trusted ??= isOwn(folder))) return undefined;
      return attempt(() => readFileSync(join(folder, name)));
    },
    write(sources) {
      attempt(() => {
        if (madeDirectory(folder)) removeFormer(folder);
        if (!isOwn(folder)) return;
        for (const [path, source] of sources)
          if (isStored(path, source)) store(folder, path, source);
      });
    },
  };
}

/** Code that is read here is run: can only the user write to this directory? */
function isOwn(folder: string): boolean {
  const stats = attempt(() => lstatSync(folder));
  if (stats?.isDirectory() !== true) return false;
  // Windows has no user IDs; there the directory is below that of the user.
  return !process.getuid || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0);
}

/**
 * Creates a directory and those above it; false if it is there. Throws the system error. The recursive mkdir of
 * Node.js 20 never ends for a place where nothing can be created, such as /proc/nowhere.
 */
function madeDirectory(path: string): boolean {
  if (existsSync(path)) return false;
  madeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
  return true;
}

const MONTH_MS = 30 * 24 * 60 * 60_000;

/** Removes the directories of other versions that got nothing new for a month. */
function removeFormer(folder: string): void {
  for (const name of readdirSync(dirname(folder))) {
    const other = join(dirname(folder), name);
    if (lstatSync(other).mtimeMs < Date.now() - MONTH_MS) rmSync(other, { recursive: true });
  }
}

/** V8 does not check compiled code for damage, so a file is complete on the disk before it has its name. */
function store(folder: string, path: string, source: string): void {
  const name = basename(path);
  const temporary = join(folder, `${name}.${process.pid}`);
  try {
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(file, compiledInFull(path, source));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, join(folder, name));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** All functions of a chunk: V8 compiles each when it is first called, unless it is told to. */
export function compiledInFull(filename: string, source: string): Uint8Array {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8"); // it takes 2 ms to load
  for (const flag of optimizingFlags) setFlagsFromString(`--${flag}`);
  setFlagsFromString("--no-lazy");
  // With an offset, because V8 would return the script as it was compiled before.
  const script = compile(filename, source, { columnOffset: 1 });
  setFlagsFromString("--lazy");
  return script.createCachedData();
}
