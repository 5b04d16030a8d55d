import { basename, dirname } from "node:path";

const utf8 = new TextEncoder();
export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? utf8.encode(content) : content;

export const systemError = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });

/** A file without its name: an open one lives on when its name is removed or given to another one. */
export interface Inode {
  content: Uint8Array;
  /** What a power cut leaves for certain. */
  flushed: Uint8Array;
  /** When it was written, by the clock of the disk. */
  written: number;
  /** A named pipe without a writer: reading it never ends. */
  isPipe?: true;
}

/** ms after which the system flushes names and content by itself. */
const NAMES_FLUSHED_MS = 5000;
const CONTENT_FLUSHED_MS = 30_000;

/** The disk of a machine: what is written stays, also if the process that wrote it ends. */
export class Disk {
  readonly #files = new Map<string, Inode>();
  readonly #directories = new Set<string>(["/"]);
  /** What each link leads to, as an absolute path; users alone make them. */
  readonly #links = new Map<string, string>();
  /** Changes of names that a power cut may undo, in order. */
  #unflushed: { readonly at: number; readonly undo: () => void }[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The file of a name; throws ENOENT. */
  inode(path: string): Inode {
    const found = this.#files.get(this.real(path));
    if (found) return found;
    throw systemError(this.isDirectory(path) ? "EISDIR" : "ENOENT", "open", path);
  }

  read(path: string): Uint8Array {
    return this.inode(path).content;
  }

  text(path: string): string {
    return new TextDecoder().decode(this.read(path));
  }

  has(path: string): boolean {
    return this.#files.has(this.real(path)) || this.isDirectory(path);
  }

  isDirectory(path: string): boolean {
    return this.#directories.has(this.real(path));
  }

  isPipe(path: string): boolean {
    return this.#files.get(this.real(path))?.isPipe === true;
  }

  isLink(path: string): boolean {
    return this.#links.has(this.#name(path));
  }

  /** The path without links. */
  real(path: string): string {
    const named = this.#name(path);
    const target = this.#links.get(named);
    return target === undefined ? named : this.real(target);
  }

  /** The path of a name itself: links on the way to it are followed. */
  #name(path: string): string {
    const at = normal(path);
    if (this.#links.size === 0 || at === "/") return at;
    const parent = this.real(dirname(at));
    return `${parent === "/" ? "" : parent}/${basename(at)}`;
  }

  /** Puts something else in the place of a file, as a user does: a link to a path, or a named pipe. */
  putLink(path: string, target: string): void {
    this.discard(path);
    this.#links.set(this.#name(path), target);
  }

  putPipe(path: string): void {
    this.discard(path);
    this.put(path, "");
    this.inode(path).isPipe = true;
  }

  /** Creates an empty file, or empties one; throws ENOENT without its directory. */
  create(path: string): Inode {
    const at = this.real(path);
    if (!this.isDirectory(dirname(at))) throw systemError("ENOENT", "open", path);
    const existing = this.#files.get(at);
    if (existing) this.set(existing, new Uint8Array());
    if (existing) return existing;
    const created = { content: new Uint8Array(), flushed: new Uint8Array(), written: this.#now() };
    this.#setName(at, created);
    return created;
  }

  /** Changes the content of a file, which is not flushed. */
  set(inode: Inode, content: Uint8Array): void {
    if (this.#now() - inode.written > CONTENT_FLUSHED_MS) inode.flushed = inode.content;
    inode.content = content;
    inode.written = this.#now();
  }

  /** Flushes a file and, as journaling file systems do, all names. */
  flush(inode: Inode): void {
    inode.flushed = inode.content;
    this.#unflushed = [];
  }

  /** Writes a file as a user does: what they see is flushed. */
  write(path: string, content: string | Uint8Array): void {
    const inode = this.create(path);
    this.set(inode, bytesOf(content));
    this.flush(inode);
  }

  /** The same with the directories around it. */
  put(path: string, content: string | Uint8Array): void {
    this.makeDirectory(dirname(normal(path)));
    this.write(path, content);
  }

  /** Removes a file as a user does, who would see it come back. */
  discard(path: string): void {
    this.remove(path);
    this.#unflushed = [];
  }

  makeDirectory(path: string): void {
    const at = this.real(path);
    if (this.#directories.has(at)) return;
    this.makeDirectory(dirname(at));
    this.#directories.add(at);
    this.#changed(() => this.#directories.delete(at));
  }

  rename(from: string, to: string): void {
    const inode = this.inode(from);
    const [source, target] = [this.#name(from), this.#name(to)];
    if (!this.isDirectory(dirname(target))) throw systemError("ENOENT", "rename", to);
    if (this.#directories.has(target)) throw systemError("EISDIR", "rename", to);
    this.#links.delete(target);
    const before = this.#files.get(target);
    this.#files.delete(source);
    this.#files.set(target, inode);
    this.#changed(() => {
      this.#files.set(source, inode);
      if (before) this.#files.set(target, before);
      else this.#files.delete(target);
    });
  }

  /** Removes a file, or a directory with its content. */
  remove(path: string): void {
    const at = this.#name(path);
    const isGone = (each: string) => each === at || each.startsWith(`${at}/`);
    for (const each of [...this.#links.keys()].filter(isGone)) this.#links.delete(each);
    for (const each of [...this.#files.keys()].filter(isGone)) this.#setName(each, undefined);
    for (const each of [...this.#directories].filter(isGone)) {
      this.#directories.delete(each);
      this.#changed(() => this.#directories.add(each));
    }
  }

  /** Sorted names in a directory; throws ENOENT. */
  list(path: string): string[] {
    if (!this.isDirectory(path)) throw systemError("ENOENT", "scandir", path);
    const at = this.real(path);
    const base = at === "/" ? "/" : `${at}/`;
    const below = [...this.#files.keys(), ...this.#directories, ...this.#links.keys()]
      .filter((each) => each.startsWith(base) && each !== base)
      .map((each) => each.slice(base.length))
      .filter((each) => !each.includes("/"));
    return below.sort();
  }

  /**
   * Forgets changes that are not flushed, as far as `random` decides: the last ones of names, and the content of
   * files, or the end of it.
   */
  losePower(random: (words: string) => number): void {
    const names = this.#unflushed.filter(({ at }) => this.#now() - at < NAMES_FLUSHED_MS);
    const kept = Math.floor(random("names that stay") * (names.length + 1));
    for (const { undo } of names.slice(kept).reverse()) undo();
    this.#unflushed = [];
    for (const [path, inode] of this.#files) {
      const isOld = this.#now() - inode.written > CONTENT_FLUSHED_MS;
      if (!isOld && inode.content !== inode.flushed)
        inode.content = remains(inode, random(`what stays of ${path}`));
      inode.flushed = inode.content;
    }
  }

  #setName(path: string, inode: Inode | undefined): void {
    const before = this.#files.get(path);
    const set = (each: Inode | undefined) =>
      each ? this.#files.set(path, each) : this.#files.delete(path);
    set(inode);
    this.#changed(() => set(before));
  }

  #changed(undo: () => void): void {
    this.#unflushed.push({ at: this.#now(), undo });
  }
}

const normal = (path: string): string => path.replace(/\/+/g, "/").replace(/(?<=.)\/$/, "");

/** What is left of a file that was not flushed: all, the old content, or a beginning of the new one. */
function remains({ content, flushed }: Inode, chance: number): Uint8Array {
  if (chance < 0.2) return content;
  if (chance < 0.4) return flushed;
  const isAppended = Buffer.from(content.subarray(0, flushed.length)).equals(flushed);
  const from = isAppended ? flushed.length : 0;
  const part = (chance - 0.4) / 0.6;
  return content.slice(0, from + Math.floor((content.length - from) * part));
}
