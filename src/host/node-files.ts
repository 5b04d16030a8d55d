import { readFile, stat } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { Files } from "./host.ts";

/** Loaded when the first file is touched: 2 ms that help and errors do not need. */
let loaded: Promise<typeof import("node:fs/promises")> | undefined;
const fs = () => (loaded ??= import("node:fs/promises"));

/** A third of the time that their namesakes with promises take, over thousands of small files. */
const [contentOf, statOf] = [promisify(readFile), promisify(stat)];

/** A system error with the path of the file that was to be written, not of the temporary one or none. */
const withPath = (path: string, error: unknown): unknown =>
  error instanceof Error && "syscall" in error ? Object.assign(error, { path }) : error;

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/** Bytes that are read at a time from what is no plain file, and ms until it is looked at again. */
const mouthful = 65_536;
const beat = 20;

/**
 * What a pipe, a terminal or a device gives. Asked without waiting: who waits there blocks a thread,
 * and with it the end of the process, for as long as nobody writes.
 */
async function* poured(path: string): AsyncGenerator<Buffer> {
  const { constants } = await import("node:fs");
  const { open, realpath } = await fs();
  const { setTimeout: sleep } = await import("node:timers/promises");
  // A pipe with a name waits for its first writer; one without (`<(command)`) has had it.
  let awaited = (await statOf(path)).isFIFO() && (await realpath(path).catch(() => "")) !== "";
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    for (;;) {
      const buffer = Buffer.alloc(mouthful);
      const size = await file.read(buffer).then(
        ({ bytesRead }) => bytesRead,
        (error: unknown) => {
          if (error instanceof Error && "code" in error && error.code === "EAGAIN")
            return undefined;
          throw withPath(path, error);
        },
      );
      if (size === 0 && !awaited) return;
      if (size !== 0) awaited = false;
      if (size) yield buffer.subarray(0, size);
      else await sleep(beat);
    }
  } finally {
    await file.close();
  }
}

const isPlain = async (path: string): Promise<boolean> => {
  const found = await statOf(path);
  return found.isFile() || found.isDirectory();
};

/** The real disk. */
export const diskFiles: Files = {
  async read(path) {
    if (await isPlain(path)) return contentOf(path);
    const pieces: Buffer[] = [];
    for await (const piece of poured(path)) pieces.push(piece);
    return Buffer.concat(pieces);
  },
  async *bytes(path) {
    if (!(await isPlain(path))) return yield* poured(path);
    const { createReadStream } = await import("node:fs");
    yield* createReadStream(path) as AsyncIterable<Buffer>; // without an encoding it gives bytes
  },
  blob: async (path, type) => (await import("node:fs")).openAsBlob(path, { type }),
  async stat(path) {
    try {
      const found = await statOf(path);
      return {
        size: found.size,
        isDirectory: found.isDirectory(),
        isFile: found.isFile(),
        mode: found.mode & 0o777,
      };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT" || code === "ENOTDIR") return null;
      throw error;
    }
  },
  async *watch(folder, signal) {
    yield* (await fs()).watch(folder, { recursive: true, signal });
  },
  realPath: async (path) => (await fs()).realpath(path),
  list: async (path) => (await (await fs()).readdir(path)).sort(),
  async writeAtomic(path, content, mode = 0o666) {
    const { mkdir, open, rename, rm, writeFile } = await fs();
    const { randomBytes } = await import("node:crypto");
    const beside = `${path}.${randomBytes(4).toString("hex")}.tmp`;
    const opened = () => open(beside, "w", mode);
    const file = await opened()
      .catch(async (error: unknown) => {
        if (!isMissing(error)) throw error;
        await mkdir(dirname(path), { recursive: true });
        return opened();
      })
      .catch((error: unknown) => {
        throw withPath(path, error);
      });
    try {
      await writeFile(file, content);
      await file.sync();
      await file.close();
      await rename(beside, path);
    } catch (error) {
      await file.close().catch(() => {});
      await rm(beside, { force: true });
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
  async append(path, text) {
    const { appendFile, mkdir } = await fs();
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, text, { flush: true });
  },
  truncate: async (path, size) => (await fs()).truncate(path, size),
  copy: async (from, to) => {
    const { constants, copyFile } = await fs();
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  },
  rename: async (from, to) => (await fs()).rename(from, to),
  makeDirectory: async (path, mode = 0o777) =>
    void (await (await fs()).mkdir(path, { recursive: true, mode })),
  async lock(path, { pid, isAlive }) {
    const { LockHeld, takeLock } = await import("./lock.ts");
    const { setTimeout: sleep } = await import("node:timers/promises");
    // The wait keeps nobody from ending.
    const clock = {
      sleep: (ms: number, signal: AbortSignal) => sleep(ms, undefined, { ref: false, signal }),
    };
    try {
      return { release: takeLock(path, { pid, isAlive, clock }) };
    } catch (error) {
      if (error instanceof LockHeld) return { heldBy: error.holder };
      throw error;
    }
  },
  remove: async (path) => (await fs()).rm(path, { force: true, recursive: true }),
};
