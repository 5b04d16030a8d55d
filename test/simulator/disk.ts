import { dirname } from "node:path";
import type { AppendFile, Files } from "../../src/host/host.ts";

const systemError = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });

const utf8 = new TextEncoder();
const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? utf8.encode(content) : content;

/** The disk of a machine: what is written stays, also if the process that wrote it ends. */
export class Disk {
  readonly #files = new Map<string, Uint8Array>();
  readonly #directories = new Set<string>(["/"]);
  /** Pid that holds each lock file. */
  readonly locks = new Map<string, number>();

  /** The content of a file; throws ENOENT. */
  read(path: string): Uint8Array {
    const content = this.#files.get(normal(path));
    if (content) return content;
    throw systemError(this.isDirectory(path) ? "EISDIR" : "ENOENT", "open", path);
  }

  text(path: string): string {
    return new TextDecoder().decode(this.read(path));
  }

  has(path: string): boolean {
    return this.#files.has(normal(path)) || this.isDirectory(path);
  }

  isDirectory(path: string): boolean {
    return this.#directories.has(normal(path));
  }

  /** Writes a file; throws ENOENT without its directory. */
  write(path: string, content: string | Uint8Array): void {
    if (!this.isDirectory(dirname(normal(path)))) throw systemError("ENOENT", "open", path);
    this.#files.set(normal(path), bytesOf(content));
  }

  /** Writes a file and the directories around it, as a user does. */
  put(path: string, content: string | Uint8Array): void {
    this.makeDirectory(dirname(normal(path)));
    this.write(path, content);
  }

  makeDirectory(path: string): void {
    const at = normal(path);
    if (at !== "/") this.makeDirectory(dirname(at));
    this.#directories.add(at);
  }

  rename(from: string, to: string): void {
    const content = this.read(from);
    this.write(to, content);
    this.#files.delete(normal(from));
  }

  /** Removes a file, or a directory with its content. */
  remove(path: string): void {
    const at = normal(path);
    const isGone = (each: string) => each === at || each.startsWith(`${at}/`);
    for (const each of [...this.#files.keys()].filter(isGone)) this.#files.delete(each);
    for (const each of [...this.#directories].filter(isGone)) this.#directories.delete(each);
  }

  /** Sorted names in a directory; throws ENOENT. */
  list(path: string): string[] {
    if (!this.isDirectory(path)) throw systemError("ENOENT", "scandir", path);
    const base = normal(path) === "/" ? "/" : `${normal(path)}/`;
    const below = [...this.#files.keys(), ...this.#directories]
      .filter((each) => each.startsWith(base) && each !== base)
      .map((each) => each.slice(base.length))
      .filter((each) => !each.includes("/"));
    return below.sort();
  }
}

const normal = (path: string): string => path.replace(/\/+/g, "/").replace(/(?<=.)\/$/, "");

/** How the files of a process reach its disk. */
interface Access {
  readonly disk: Disk;
  /** Takes one step: it may never come back. */
  readonly step: (name: string) => Promise<string>;
  /** Is the disk full for this step? */
  readonly isFull: (place: string) => boolean;
  /** Text for the names of temporary files. */
  readonly random: (place: string) => string;
}

/** The files of a process, with the steps and the promises of node-files.ts. */
export function simulatedFiles({ disk, step, isFull, random }: Access): Files {
  /** A step that needs room; a full disk takes the first half of the content. */
  const write = async (name: string, path: string, { before, content }: Written) => {
    const place = await step(name);
    const added = bytesOf(content);
    const full = isFull(place);
    const written = full ? added.subarray(0, Math.floor(added.length / 2)) : added;
    disk.write(path, Buffer.concat([before(), written]));
    if (full) throw systemError("ENOSPC", "write", path);
  };
  const append = (path: string, text: string) => {
    const before = () => (disk.has(path) ? disk.read(path) : empty);
    return write(`append ${path}`, path, { before, content: text });
  };
  const files: Files = {
    async read(path) {
      await step(`read ${path}`);
      return disk.read(path).slice();
    },
    async *bytes(path) {
      yield await files.read(path);
    },
    async blob(path, type) {
      return new Blob([(await files.read(path)) as Uint8Array<ArrayBuffer>], { type });
    },
    // oxlint-disable-next-line require-yield
    async *watch() {
      throw new Error("no scenario watches a directory");
    },
    async stat(path) {
      await step(`stat ${path}`);
      if (!disk.has(path)) return null;
      const isDirectory = disk.isDirectory(path);
      const size = isDirectory ? 0 : disk.read(path).length;
      return {
        size,
        isDirectory,
        isFile: !isDirectory,
        isLink: false,
        mode: isDirectory ? 0o700 : 0o600,
      };
    },
    async realPath(path) {
      await step(`realpath ${path}`);
      if (!disk.has(path)) throw systemError("ENOENT", "realpath", path);
      return normal(path);
    },
    async list(path) {
      await step(`list ${path}`);
      return disk.list(path);
    },
    async entries(path) {
      await step(`list ${path}`);
      return disk.list(path).map((name) => {
        const isDirectory = disk.isDirectory(`${path}/${name}`);
        return { name, isDirectory, isFile: !isDirectory, isLink: false };
      });
    },
    async writeAtomic(path, content) {
      const place = await step(`create ${path}.tmp`);
      disk.makeDirectory(dirname(normal(path)));
      const temporary = `${path}.${random(place)}.tmp`;
      disk.write(temporary, "");
      try {
        for await (const each of piecesOf(content))
          await write(`write ${path}.tmp`, temporary, {
            before: () => disk.read(temporary),
            content: each,
          });
        await step(`rename ${path}.tmp`);
        disk.rename(temporary, path);
      } catch (error) {
        await step(`remove ${path}.tmp`);
        disk.remove(temporary);
        throw withPath(error, path);
      }
    },
    writeSettings: (path, value) =>
      files.writeAtomic(path, `${JSON.stringify(value, null, "\t")}\n`),
    async create(path) {
      await step(`create ${path}`);
      if (disk.has(path)) throw systemError("EEXIST", "open", path);
      disk.write(path, "");
      return {
        write: (text) => append(path, text),
        close: async () => void (await step(`close ${path}`)),
      } satisfies AppendFile;
    },
    async append(path, text) {
      await step(`open ${path}`);
      disk.makeDirectory(dirname(normal(path)));
      await append(path, text);
    },
    untrustedPart: () => undefined,
    async truncate(path, size) {
      await step(`truncate ${path}`);
      disk.write(path, disk.read(path).slice(0, size));
    },
    async copy(from, to) {
      await step(`read ${from}`);
      await write(`write ${to}`, to, { before: () => empty, content: disk.read(from) });
    },
    async rename(from, to) {
      await step(`rename ${from}`);
      disk.rename(from, to);
    },
    async makeDirectory(path) {
      await step(`mkdir ${path}`);
      disk.makeDirectory(path);
    },
    async lock(path, owner) {
      const place = await step(`lock ${path}`);
      const holder = disk.locks.get(path);
      if (holder !== undefined && owner.isAlive(holder) && disk.has(path))
        return { heldBy: `pid ${holder} on this machine`, next: "wait" };
      if (isFull(place)) throw systemError("ENOSPC", "write", path);
      disk.write(path, `${owner.pid}\n`);
      disk.locks.set(path, owner.pid);
      return {
        release() {
          if (disk.locks.get(path) !== owner.pid) return;
          disk.locks.delete(path);
          disk.remove(path);
        },
      };
    },
    async remove(path) {
      await step(`remove ${path}`);
      disk.remove(path);
    },
  };
  return files;
}

/** Content to write behind what is there. */
interface Written {
  /** What is there when it is written: others may write, too. */
  readonly before: () => Uint8Array;
  readonly content: string | Uint8Array;
}

const empty = new Uint8Array();

async function* piecesOf(
  content: string | Uint8Array | AsyncIterable<Uint8Array | string>,
): AsyncGenerator<string | Uint8Array> {
  if (typeof content === "string" || content instanceof Uint8Array) yield content;
  else yield* content;
}

const withPath = (error: unknown, path: string): unknown =>
  error instanceof Error && "syscall" in error ? Object.assign(error, { path }) : error;
