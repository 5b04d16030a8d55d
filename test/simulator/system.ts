import { constants } from "node:fs";
import { dirname } from "node:path";
import type { Files } from "../../src/host/host.ts";
import type { LockSystem } from "../../src/host/lock.ts";
import { filesOf } from "../../src/host/node-files.ts";
import { bytesOf, systemError, type Disk, type Inode } from "./disk.ts";
import type { FaultKind } from "./faults.ts";

type FileSystem = Parameters<typeof filesOf>[0];

/** How the system calls of a process reach its disk. */
export interface Access {
  readonly disk: Disk;
  /** Takes one step: it may never come back. A kill at it calls `cut`. */
  readonly step: (name: string, cut?: () => void) => Promise<string>;
  /** The same without time, for calls that block: it throws if the process is killed. */
  readonly stepNow: (name: string) => string;
  readonly strikes: (kind: FaultKind, place: string) => boolean;
  readonly random: (words: string) => number;
  /** Text of a file of /proc, or of a link there. */
  readonly proc: (path: string) => string;
  readonly hostname: string;
  readonly lockClock: Awaited<ReturnType<FileSystem["lockClock"]>>;
}

/** Names of temporary files and locks without what is random in them. */
const stable = (path: string): string =>
  path.replace(/\.[0-9a-f]{8}(?=\.tmp$)|\.[0-9a-f]{16}(?=\.|$)/g, "");

/** What `open` gives. */
class Handle {
  readonly #calls: Calls;
  readonly #path: string;
  readonly #inode: Inode;

  constructor(calls: Calls, path: string, inode: Inode) {
    this.#calls = calls;
    this.#path = path;
    this.#inode = inode;
  }

  async writeFile(content: Content): Promise<void> {
    for await (const piece of piecesOf(content))
      await this.#calls.write("write", this.#path, this.#inode, piece);
  }

  appendFile(text: string): Promise<void> {
    return this.#calls.write("append", this.#path, this.#inode, text);
  }

  truncate(size: number): Promise<void> {
    return this.#calls.truncate(this.#path, this.#inode, size);
  }

  async sync(): Promise<void> {
    await this.#calls.sync(this.#path, this.#inode);
  }

  async close(): Promise<void> {}
}

type Content = string | Uint8Array | AsyncIterable<Uint8Array | string>;

/** The calls of `node:fs/promises` that the programs use. */
class Calls {
  readonly constants = constants;
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  readonly open = async (path: string, flags: string | number = "r"): Promise<Handle> => {
    await this.#step("open", path);
    const { disk } = this.#access;
    const has = (bit: number, text: RegExp) =>
      typeof flags === "number" ? (flags & bit) !== 0 : text.test(flags);
    if (!disk.has(path) && !has(constants.O_CREAT, /[wa]/))
      throw systemError("ENOENT", "open", path);
    if (disk.isDirectory(path) && has(constants.O_WRONLY, /[wa]/))
      throw systemError("EISDIR", "open", path);
    if (disk.isDirectory(path)) return new Handle(this, path, directoryInode());
    if (disk.isLink(path) && has(constants.O_NOFOLLOW, /^$/))
      throw systemError("ELOOP", "open", path);
    if (disk.isPipe(path)) await endless();
    if (disk.has(path) && has(constants.O_EXCL, /x/)) throw systemError("EEXIST", "open", path);
    const isKept = disk.has(path) && !has(constants.O_TRUNC, /w/);
    return new Handle(this, path, isKept ? disk.inode(path) : disk.create(path));
  };

  readonly appendFile = async (path: string, text: string): Promise<void> => {
    const file = await this.open(path, "a");
    await file.appendFile(text);
    await file.sync();
  };

  readonly writeFile = async (file: Handle, content: Content): Promise<void> =>
    file.writeFile(content);

  readonly rename = async (from: string, to: string): Promise<void> => {
    await this.#step("rename", from);
    this.#access.disk.rename(from, to);
  };

  readonly rm = async (path: string): Promise<void> => {
    await this.#step("remove", path);
    this.#access.disk.remove(path);
  };

  readonly rmdir = async (path: string): Promise<void> => {
    await this.#step("rmdir", path);
    const { disk } = this.#access;
    if (!disk.isDirectory(path)) throw systemError("ENOENT", "rmdir", path);
    if (disk.list(path).length > 0) throw systemError("ENOTEMPTY", "rmdir", path);
    disk.remove(path);
  };

  readonly mkdir = async (path: string): Promise<void> => {
    await this.#step("mkdir", path);
    const { disk } = this.#access;
    if (disk.has(path)) throw systemError("EEXIST", "mkdir", path);
    if (!disk.isDirectory(dirname(path))) throw systemError("ENOENT", "mkdir", path);
    disk.makeDirectory(path);
  };

  readonly readdir = async (path: string, options?: object): Promise<unknown[]> => {
    await this.#step("list", path);
    const { disk } = this.#access;
    const names = disk.list(path);
    if (!options) return names;
    return names.map((name) => ({ name, ...kindOf(disk, `${path}/${name}`) }));
  };

  readonly realpath = async (path: string): Promise<string> => {
    await this.#step("realpath", path);
    if (!this.#access.disk.has(path)) throw systemError("ENOENT", "realpath", path);
    return this.#access.disk.real(path);
  };

  readonly copyFile = async (from: string, to: string): Promise<void> => {
    await this.#step("read", from);
    const { disk } = this.#access;
    const content = disk.read(from);
    await this.write("write", to, disk.create(to), content);
  };

  readonly stat = async (path: string) => {
    await this.#step("stat", path);
    const { disk } = this.#access;
    if (!disk.has(path)) throw systemError("ENOENT", "stat", path);
    const kind = kindOf(disk, disk.real(path));
    const isDirectory = disk.isDirectory(path);
    const size = isDirectory ? 0 : disk.read(path).length;
    return { size, mode: isDirectory ? 0o40700 : 0o100600, uid: 0, ...kind };
  };

  readonly lstat = async (path: string) => {
    const { disk } = this.#access;
    if (!disk.isLink(path)) return this.stat(path);
    await this.#step("stat", path);
    return { size: 0, mode: 0o120777, uid: 0, ...kindOf(disk, path) };
  };

  readonly readFile = async (path: string): Promise<Uint8Array> => {
    await this.#step("read", path);
    if (this.#access.disk.isPipe(path)) await endless();
    return this.#access.disk.read(path).slice();
  };

  /** Appends to an open file; a kill leaves a beginning of it, as does a full disk. */
  async write(
    name: string,
    path: string,
    inode: Inode,
    content: string | Uint8Array,
  ): Promise<void> {
    const { disk, random, strikes } = this.#access;
    const added = bytesOf(content);
    const add = (share: number) =>
      disk.set(
        inode,
        Buffer.concat([inode.content, added.subarray(0, Math.floor(added.length * share))]),
      );
    // Of the writes that a kill cuts, some have not begun.
    const cut = () => add(Math.max(0, random(`cut of ${name} ${path}`) * 2 - 1));
    const place = await this.#step(name, path, cut);
    const isFull = strikes("full disk", place);
    const isBroken = !isFull && strikes("io error", place);
    add(isFull || isBroken ? 0.5 : 1);
    if (isFull) throw systemError("ENOSPC", "write", path);
    if (isBroken) throw systemError("EIO", "write", path);
  }

  async truncate(path: string, inode: Inode, size: number): Promise<void> {
    await this.#step("truncate", path);
    this.#access.disk.set(inode, inode.content.slice(0, size));
  }

  async sync(path: string, inode: Inode): Promise<void> {
    const place = await this.#step("sync", path);
    if (this.#access.strikes("io error", place)) throw systemError("EIO", "fsync", path);
    this.#access.disk.flush(inode);
  }

  #step(name: string, path: string, cut?: () => void): Promise<string> {
    return this.#access.step(`${name} ${stable(path)}`, cut);
  }
}

/** A directory has no content to flush; flushing it flushes all names. */
const directoryInode = (): Inode => ({
  content: new Uint8Array(),
  flushed: new Uint8Array(),
  written: 0,
});

/** The kind of a name itself: links are not followed. */
const kindOf = (disk: Disk, path: string) => {
  const isLink = disk.isLink(path);
  const isDirectory = !isLink && disk.isDirectory(path);
  const isPipe = !isLink && disk.isPipe(path);
  return {
    isDirectory: () => isDirectory,
    isFile: () => !isDirectory && !isPipe && !isLink,
    isFIFO: () => isPipe,
    isSymbolicLink: () => isLink,
  };
};

/** What a call at a pipe waits for: that somebody writes. */
const endless = () => new Promise<never>(() => {});

async function* piecesOf(content: Content): AsyncGenerator<string | Uint8Array> {
  if (typeof content === "string" || content instanceof Uint8Array) yield content;
  else yield* content;
}

/** The calls below the locks. They block, so no other process takes a step between them. */
function lockSystem({ disk, stepNow, strikes, random, proc, hostname }: Access): LockSystem {
  const open = new Map<number, { readonly path: string; readonly inode: Inode }>();
  let drawn = 0;
  const step = (call: string, path: string) => stepNow(`lock ${stable(path)}: ${call}`);
  const create = (path: string) => {
    step("open", path);
    if (disk.has(path)) throw systemError("EEXIST", "open", path);
    return disk.create(path);
  };
  const fs = {
    openSync(path: string) {
      const descriptor = 10 + open.size;
      open.set(descriptor, { path, inode: create(path) });
      return descriptor;
    },
    writeSync(descriptor: number, text: string) {
      const file = open.get(descriptor);
      if (!file) throw systemError("EBADF", "write", "");
      const place = step("write", file.path);
      if (strikes("full disk", place)) throw systemError("ENOSPC", "write", file.path);
      disk.set(file.inode, bytesOf(text));
    },
    closeSync() {},
    writeFileSync: (path: string) => void create(path),
    readFileSync(path: string) {
      if (path.startsWith("/proc/")) return proc(path);
      step("read", path);
      return disk.text(path);
    },
    readlinkSync: proc,
    renameSync(from: string, to: string) {
      step("rename", from);
      disk.rename(from, to);
    },
    rmSync(path: string) {
      step("remove", path);
      disk.remove(path);
    },
    statSync(path: string) {
      step("stat", path);
      return { mtimeMs: disk.inode(path).written };
    },
  };
  return {
    fs: fs as unknown as LockSystem["fs"], // all that locks use
    hostname: () => hostname,
    ownTokens: new Set(),
    randomBytes: (size) =>
      Buffer.from(Array.from({ length: size }, () => random(`byte ${drawn++} of locks`) * 256)),
  };
}

/** The files of a process: those of the programs over a simulated disk. */
export function simulatedFiles(access: Access): Files {
  const calls = new Calls(access);
  let drawn = 0;
  const files = filesOf({
    fs: () => Promise.resolve(calls as unknown as Awaited<ReturnType<FileSystem["fs"]>>), // all they use
    readContent: calls.readFile as FileSystem["readContent"],
    statPath: calls.stat as unknown as FileSystem["statPath"],
    lstatPath: calls.lstat as unknown as FileSystem["statPath"],
    randomHex: async (bytes) =>
      access
        .random(`name ${drawn++}`)
        .toString(16)
        .slice(2, 2 + 2 * bytes)
        .padEnd(2 * bytes, "0"),
    lockSystem: lockSystem(access),
    lockClock: () => Promise.resolve(access.lockClock),
  });
  // What reads a pipe piece by piece calls Node.js itself.
  const read = async (path: string) =>
    access.disk.isPipe(path) ? calls.readFile(path) : files.read(path);
  return {
    ...files,
    read,
    async *bytes(path) {
      yield await read(path);
    },
    async blob(path, type) {
      return new Blob([(await calls.readFile(path)) as Uint8Array<ArrayBuffer>], { type });
    },
    // oxlint-disable-next-line require-yield
    async *watch() {
      throw new Error("no scenario watches a directory");
    },
    async lock(path, owner) {
      await access.step(`lock ${stable(path)}`);
      return files.lock(path, owner);
    },
    untrustedPart: () => undefined,
    // The package that writes it calls Node.js itself.
    writeSettings: (path, value) =>
      files.writeAtomic(path, `${JSON.stringify(value, null, "\t")}\n`, 0o600),
  };
}
