import { constants, lstat, readFile, stat } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf, isMissing } from "../errors.ts";
import { bytesOf } from "../lib/collect.ts";
import type { Files } from "./host.ts";
import { untrustedPart } from "./trusted-path.ts";

/** Loaded on first use: it takes 2 ms that help and errors do not need. */
let loaded: Promise<typeof import("node:fs/promises")> | undefined;
const fs = () => (loaded ??= import("node:fs/promises"));

/** For thousands of small files these take a third of the time of `node:fs/promises`. */
const [readContent, statPath, lstatPath] = [promisify(readFile), promisify(stat), promisify(lstat)];

/** Opens no link: others may have put one in the place of a file of our own. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** A system error with the path of the requested file, instead of a temporary one or none. */
const withPath = (path: string, error: unknown): unknown =>
  error instanceof Error && "syscall" in error ? Object.assign(error, { path }) : error;

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

const isRegular = async (path: string): Promise<boolean> => {
  const stats = await statPath(path);
  return stats.isFile() || stats.isDirectory();
};

/**
 * Creates a directory and those above it. With `recursive`, Node.js never returns for a path below /proc,
 * where none can be created.
 */
async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const { mkdir } = await fs();
  const make = () =>
    mkdir(path, mode).catch(async (error: unknown) => {
      if (codeOf(error) !== "EEXIST" || !(await statPath(path)).isDirectory()) throw error;
    });
  await make().catch(async (error: unknown) => {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeDirectory(dirname(path), mode).catch((cause: unknown) => {
      throw withPath(path, cause);
    });
    await make();
  });
}

/** The real file system. */
export const diskFiles: Files = {
  async read(path) {
    if (await isRegular(path)) return readContent(path);
    return bytesOf(pollChunks(path));
  },
  async *bytes(path) {
    if (!(await isRegular(path))) return yield* pollChunks(path);
    const { createReadStream } = await import("node:fs");
    yield* createReadStream(path) as AsyncIterable<Buffer>; // bytes, since no encoding is set
  },
  blob: async (path, type) => (await import("node:fs")).openAsBlob(path, { type }),
  async stat(path) {
    try {
      const own = await lstatPath(path);
      const isLink = own.isSymbolicLink();
      const stats = isLink ? await statPath(path) : own;
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
    yield* (await fs()).watch(directory, { recursive: true, signal });
  },
  untrustedPart,
  realPath: async (path) => (await fs()).realpath(path),
  list: async (path) => (await (await fs()).readdir(path)).sort(),
  async entries(path) {
    const entries = await (await fs()).readdir(path, { withFileTypes: true });
    return entries
      .map((entry) => ({
        name: entry.name,
        isFile: entry.isFile(),
        isDirectory: entry.isDirectory(),
        isLink: entry.isSymbolicLink(),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  },
  async writeAtomic(path, content, mode = 0o666) {
    const { open, rename, rm, writeFile } = await fs();
    const { randomBytes } = await import("node:crypto");
    const temporary = `${path}.${randomBytes(4).toString("hex")}.tmp`;
    const openTemporary = () => open(temporary, "wx", mode);
    const file = await openTemporary()
      .catch(async (error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
        await makeDirectory(dirname(path));
        return openTemporary();
      })
      .catch((error: unknown) => {
        throw withPath(path, error);
      });
    try {
      await writeFile(file, content);
      await file.sync();
      await file.close();
      await rename(temporary, path);
    } catch (error) {
      await file.close().catch(() => {});
      await rm(temporary, { force: true });
      throw withPath(path, error);
    }
  },
  async writeSettings(path, value) {
    const { writeSettings } = await import("./settings-file.ts");
    await writeSettings(path, value).catch((error: unknown) => {
      throw withPath(path, error);
    });
  },
  async create(path) {
    const file = await (await fs()).open(path, "wx");
    return {
      write: (text) => file.appendFile(text),
      async close() {
        await file.sync().finally(() => file.close());
      },
    };
  },
  async append(path, text, ownMode) {
    const { appendFile } = await fs();
    await makeDirectory(dirname(path));
    const { O_WRONLY, O_APPEND, O_CREAT } = constants;
    const flag = O_WRONLY | O_APPEND | O_CREAT | (ownMode === undefined ? 0 : noFollow);
    await appendFile(path, text, { flush: true, flag, mode: ownMode });
  },
  async truncate(path, size) {
    const file = await (await fs()).open(path, constants.O_WRONLY | noFollow);
    await file.truncate(size).finally(() => file.close());
  },
  async copy(from, to) {
    const { copyFile, rm } = await fs();
    await rm(to, { force: true }); // copied over a link, it would replace what that leads to
    await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  },
  rename: async (from, to) => (await fs()).rename(from, to),
  makeDirectory,
  async lock(path, { pid, isAlive }) {
    const { takeLock } = await import("./lock.ts");
    const { setTimeout: sleep } = await import("node:timers/promises");
    // Unreferenced, so that the timer does not keep the process running.
    const clock = {
      now: () => new Date(),
      sleep: (ms: number, signal: AbortSignal) => sleep(ms, undefined, { ref: false, signal }),
    };
    return takeLock(path, { pid, isAlive, clock });
  },
  remove: async (path) => (await fs()).rm(path, { force: true, recursive: true }),
};
