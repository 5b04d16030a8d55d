import { constants, lstat, readFile, stat, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { codeOf, isMissing } from "../errors.ts";
import { bytesOf } from "../lib/collect.ts";
import { unfinishedPath } from "./host.ts";
import type { Files, ScratchFile } from "./host.ts";
import type { LockOwner, LockSystem } from "./lock.ts";
import { untrustedPart } from "./trusted-path.ts";

/** The system calls below `Files`, by the names of Node.js; the simulator has a disk of its own. */
interface FileSystem {
  readonly fs: () => Promise<typeof import("node:fs/promises")>;
  /** For thousands of small files these take a third of the time of `node:fs/promises`. */
  readonly readContent: (path: string) => Promise<Buffer>;
  readonly statPath: (path: string) => Promise<Stats>;
  readonly lstatPath: (path: string) => Promise<Stats>;
  readonly randomHex: (bytes: number) => Promise<string>;
  /** The system below the locks (default: that of Node.js), and its clock. */
  readonly lockSystem?: LockSystem;
  readonly lockClock: () => Promise<NonNullable<LockOwner["clock"]>>;
}

let loaded: Promise<typeof import("node:fs/promises")> | undefined;
const fs = () => (loaded ??= import("node:fs/promises"));
const statPath = promisify(stat);

/** Opens no link: others may have put one in the place of a file of our own. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** A system error with the path of the requested file, instead of a temporary one or none. */
const withPath = (path: string, error: unknown): unknown =>
  error instanceof Error && "syscall" in error ? Object.assign(error, { path }) : error;

/** Throws an error with the path of the requested file. */
const failAt =
  (path: string) =>
  (error: unknown): never => {
    throw withPath(path, error);
  };

/** Size of a read from a pipe or device, and ms until the next attempt if it has no data. */
const CHUNK_SIZE = 65_536;
const POLL_INTERVAL_MS = 20;

/**
 * Reads a pipe, terminal or device without blocking: a blocking read would occupy a thread, and keep
 * the process from exiting, until someone writes.
 */
async function* pollChunks(path: string): AsyncGenerator<Buffer> {
  const { open, realpath } = await fs();
  const { setTimeout: sleep } = await import("node:timers/promises");
  // A named pipe waits for its first writer; an unnamed one (`<(command)`) has already had it.
  const isFifo = (await statPath(path)).isFIFO();
  let waitsForWriter = isFifo && (await realpath(path).catch(() => "")) !== "";
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    for (;;) {
      const buffer = Buffer.alloc(CHUNK_SIZE);
      const size = await file.read(buffer).then(
        ({ bytesRead }) => bytesRead,
        (error: unknown) => {
          if (codeOf(error) === "EAGAIN") return undefined;
          throw withPath(path, error);
        },
      );
      if (size === 0 && !waitsForWriter) return;
      if (size !== 0) waitsForWriter = false;
      if (size) yield buffer.subarray(0, size);
      else await sleep(POLL_INTERVAL_MS);
    }
  } finally {
    await file.close();
  }
}

const isRegular = (stats: Stats): boolean => stats.isFile() || stats.isDirectory();

/**
 * Creates a directory and those above it. With `recursive`, Node.js never returns for a path below /proc,
 * where none can be created.
 */
async function createDirectory(path: string, mode: number, system: FileSystem): Promise<void> {
  const { mkdir } = await system.fs();
  const make = () =>
    mkdir(path, mode).catch(async (error: unknown) => {
      const found = await system.statPath(path).catch(() => undefined); // a link may lead nowhere
      if (codeOf(error) !== "EEXIST" || !found?.isDirectory()) throw error;
    });
  await make().catch(async (error: unknown) => {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await createDirectory(dirname(path), mode, system).catch(failAt(path));
    await make();
  });
}

/** Does what may create the file at `path`, and creates its directory if that is missing. */
const withDirectory = <T>(path: string, create: () => Promise<T>, system: FileSystem): Promise<T> =>
  create()
    .catch(async (error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      await createDirectory(dirname(path), 0o777, system);
      return create();
    })
    .catch(failAt(path));

/** Flushes the names of a directory, so that a power cut does not undo a rename; not all systems can. */
async function flushNames(path: string, system: FileSystem): Promise<void> {
  const directory = await (await system.fs()).open(path, "r").catch(() => undefined);
  await directory?.sync().catch(() => {});
  await directory?.close().catch(() => {});
}

/** Replaces a file by the one that `write` makes at a temporary path and renames, or leaves it as it is. */
async function replaceFile(
  path: string,
  temporary: string,
  write: () => Promise<void>,
  system: FileSystem,
): Promise<void> {
  try {
    await write();
    await flushNames(dirname(path), system);
  } catch (error) {
    await (await system.fs()).rm(temporary, { recursive: true, force: true });
    throw withPath(path, error);
  }
}

/**
 * Writes settings with conf into a new directory, readable by its owner only, and renames the file from there,
 * because on its own conf
 * - puts a truncated file into place on a full disk: it ignores short writes;
 * - does not write atomically if $SNAP is set, as in each terminal of a snap;
 * - leaves its temporary file behind if it fails and the process exits at once.
 * After the imports everything is synchronous, as conf is, so no signal can interrupt it.
 */
async function writeWithConf(path: string, directory: string, value: object): Promise<void> {
  const { appendFileSync, mkdirSync, renameSync, rmSync, statSync } = await import("node:fs");
  const { default: Conf } = await import("conf");
  const text = `${JSON.stringify(value, null, "\t")}\n`;
  mkdirSync(directory, { mode: 0o700 });
  const conf = new Conf({ cwd: directory, configFileMode: 0o600, serialize: () => text });
  conf.store = { ...value };
  // Completes a short write, or throws its reason: "disk full", "file too large".
  const missing = Buffer.from(text).subarray(statSync(conf.path).size);
  appendFileSync(conf.path, missing, { flush: true });
  renameSync(conf.path, path);
  rmSync(directory, { recursive: true });
}

const readsOf = (system: FileSystem) =>
  ({
    async read(path) {
      if (!isRegular(await system.statPath(path))) return bytesOf(pollChunks(path));
      return system.readContent(path).catch(failAt(path));
    },
    async *bytes(path) {
      if (!isRegular(await statPath(path))) return yield* pollChunks(path);
      const { createReadStream } = await import("node:fs");
      yield* createReadStream(path) as AsyncIterable<Buffer>; // bytes, since no encoding is set
    },
    blob: async (path, type) => (await import("node:fs")).openAsBlob(path, { type }),
    async stat(path) {
      try {
        const own = await system.lstatPath(path);
        const isLink = own.isSymbolicLink();
        const stats = isLink ? await system.statPath(path) : own;
        return {
          size: stats.size,
          isDirectory: stats.isDirectory(),
          isFile: stats.isFile(),
          isLink,
          mode: stats.mode & 0o777,
        };
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    async *watch(directory, signal) {
      yield* (await system.fs()).watch(directory, { recursive: true, signal });
    },
    untrustedPart,
    realPath: async (path) => (await system.fs()).realpath(path),
    list: async (path) => (await (await system.fs()).readdir(path)).sort(),
    async entries(path) {
      const entries = await (await system.fs()).readdir(path, { withFileTypes: true });
      return entries
        .map((entry) => ({
          name: entry.name,
          isFile: entry.isFile(),
          isDirectory: entry.isDirectory(),
          isLink: entry.isSymbolicLink(),
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  }) satisfies Partial<Files>;

const writesOf = (system: FileSystem) =>
  ({
    async writeAtomic(path, content, mode = 0o666) {
      const { open, rename, writeFile } = await system.fs();
      const temporary = unfinishedPath(path, await system.randomHex(4));
      const file = await withDirectory(path, () => open(temporary, "wx", mode), system);
      const write = async () => {
        try {
          await writeFile(file, content);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, path);
      };
      await replaceFile(path, temporary, write, system);
    },
    async writeSettings(path, value) {
      const directory = unfinishedPath(path, await system.randomHex(4));
      await replaceFile(path, directory, () => writeWithConf(path, directory, value), system);
    },
    async create(path, mode) {
      const file = await (await system.fs()).open(path, "wx", mode);
      return {
        write: (text) => file.appendFile(text),
        async close() {
          await file.sync().finally(() => file.close());
        },
      };
    },
    scratch: (directory) => scratchFile(directory, system),
    async append(path, text, ownMode) {
      const { appendFile } = await system.fs();
      const { O_WRONLY, O_APPEND, O_CREAT } = constants;
      const flag = O_WRONLY | O_APPEND | O_CREAT | (ownMode === undefined ? 0 : noFollow);
      const write = () => appendFile(path, text, { flush: true, flag, mode: ownMode });
      await withDirectory(path, write, system);
    },
    async truncate(path, size) {
      const file = await (await system.fs()).open(path, constants.O_WRONLY | noFollow);
      await file.truncate(size).finally(() => file.close());
    },
    async copy(from, to) {
      const { copyFile, rm } = await system.fs();
      await rm(to, { force: true }); // copied over a link, it would replace what that leads to
      await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    },
    async rename(from, to) {
      await (await system.fs()).rename(from, to);
      await flushNames(dirname(to), system);
    },
    makeDirectory: (path, mode = 0o777) => createDirectory(path, mode, system),
    async lock(path, { pid, isAlive }) {
      const { takeLock } = await import("./lock.ts");
      return takeLock(path, { pid, isAlive, clock: await system.lockClock() }, system.lockSystem);
    },
    remove: async (path) => (await system.fs()).rm(path, { force: true, recursive: true }),
    removeEmptyDirectory: async (path) => (await system.fs()).rmdir(path).catch(() => {}),
  }) satisfies Partial<Files>;

/** A file without a name, for what does not fit into memory. */
async function scratchFile(directory: string, system: FileSystem): Promise<ScratchFile> {
  const { open, rm } = await system.fs();
  const path = join(directory, `${await system.randomHex(8)}.tmp`);
  const file = await open(path, "wx+", 0o600);
  const close = () => file.close();
  // What is open needs no name. Windows deletes it once it is closed, also by a kill.
  await rm(path).catch((error: unknown) => close().finally(() => Promise.reject(error as Error)));
  return {
    append: (bytes) => file.appendFile(bytes),
    async *bytes(from = 0) {
      for (let at = from; ;) {
        const { buffer, bytesRead } = await file.read({
          buffer: Buffer.alloc(CHUNK_SIZE),
          position: at,
        });
        if (bytesRead === 0) return;
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
    close,
  };
}

/** The files of a system. */
export const filesOf = (system: FileSystem): Files => ({ ...readsOf(system), ...writesOf(system) });

/** The real file system. */
export const diskFiles: Files = filesOf({
  fs,
  readContent: promisify(readFile),
  statPath,
  lstatPath: promisify(lstat),
  randomHex: async (bytes) => (await import("node:crypto")).randomBytes(bytes).toString("hex"),
  async lockClock() {
    const { setTimeout: sleep } = await import("node:timers/promises");
    return {
      now: () => new Date(),
      // Unreferenced, so that the timer does not keep the process running.
      sleep: (ms, signal) => sleep(ms, undefined, { ref: false, signal }),
    };
  },
});
