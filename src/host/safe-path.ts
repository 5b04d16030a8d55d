import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { isMissing, usage } from "../errors.ts";
import { sha256 } from "../lib/sha256.ts";
import { shellQuote } from "../lib/command-line.ts";
import type { Files, RawHost } from "./host.ts";

/** Devices of Windows, with any extension, and the file by which git takes a directory for a bare repository. */
const reserved = String.raw`(?:con|prn|aux|nul|(?:com|lpt)[\d¹²³]|con(?:in|out)\$)\s*(?:[./]|$)|head(?:/|$)`;

/** What the names of files cannot have on every system, or what gives them a meaning of their own. */
const unsafe = new RegExp(
  [
    String.raw`[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}<>:"|?*\\%]`,
    String.raw`(?<![^/])[.\s\p{Cf}/]`, // at the start: hidden files, empty names
    String.raw`[.\s/](?![^/])`, // at the end, where Windows drops dots and spaces
    String.raw`~(?=\d)`, // short names: `git~1` is `.git`
    String.raw`(?<![^/])(?=${reserved}).`,
  ].join("|"),
  "giu",
);

/** Bytes of one path segment: disks allow 255, and a number and `.tmp` may be appended. */
const MAX_SEGMENT_BYTES = 200;

/**
 * Turns any document name into a relative path with `/` that is safe on every system, by percent-encoding;
 * other names stay the same. A segment that is too long ends in a part of its hash; all others can be decoded:
 *
 *     "../.git/config" → "%2E%2E/%2Egit/config" no way up, nothing hidden
 *     "C:\\x\\aux.txt" → "C%3A%5Cx%5Caux.txt"    no drives
 *     "aux.txt"        → "%61ux.txt"            no devices
 *     "what?.md. "     → "what%3F.md.%20"       no reserved characters, no dot or space at the end
 */
export const safePath = (name: string): string =>
  name.replace(unsafe, percentEncoded).split("/").map(shorten).join("/") || "%";

/** UTF-8 in percent-encoding, as in URLs; half a surrogate pair has none: `%uD800`. */
const percentEncoded = (character: string): string =>
  (/[\ud800-\udfff]/u.test(character)
    ? `%u${character.charCodeAt(0).toString(16)}`
    : Buffer.from(character).toString("hex").replace(/../g, "%$&")
  ).replace(/[a-f]/g, (digit) => digit.toUpperCase());

/** Shortens the name before its extension. */
function shorten(segment: string): string {
  if (Buffer.byteLength(segment) <= MAX_SEGMENT_BYTES) return segment;
  const [stem, extension] = splitExtension(segment);
  const suffix = Buffer.byteLength(extension) <= MAX_SEGMENT_BYTES / 4 ? extension : "";
  const end = `%-${sha256(segment).slice(0, 12)}${suffix}`;
  return truncateBytes(stem, MAX_SEGMENT_BYTES - Buffer.byteLength(end)) + end;
}

/** The longest prefix of whole characters within a number of bytes. */
function truncateBytes(text: string, bytes: number): string {
  let [prefix, left] = ["", bytes];
  for (const character of text) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    prefix += character;
  }
  return prefix;
}

/** `a.md` → `a` and `.md` */
function splitExtension(segment: string): readonly [stem: string, extension: string] {
  const dot = segment.lastIndexOf(".");
  return dot > 0 ? [segment.slice(0, dot), segment.slice(dot)] : [segment, ""];
}

/** Is it a relative path without a way up, on every system? */
export const isBelow = (path: string): boolean =>
  !/[\\:\0]/.test(path) && path.split("/").every((segment) => !/^\.{0,2}$/.test(segment));

/** Paths that are taken; of a file with a number below which all of its numbered ones are taken, too. */
export type TakenPaths = Map<string, number>;

/**
 * Makes a path unique among those in `taken`, and adds it there: `a.md`, then `a (1).md`. Paths that
 * differ only in case or Unicode normalization count as equal, and no path leads through a file.
 */
export function uniquePath(path: string, taken: TakenPaths): string {
  const segments = path.split("/");
  let parent = "";
  for (const [index, segment] of segments.entries()) {
    const [stem, extension] = splitExtension(segment);
    const isFile = index === segments.length - 1;
    const isTaken = (name: string) =>
      taken.has(fold(name)) || (isFile && taken.has(fold(`${name}/`)));
    let candidate = parent + segment;
    const key = fold(candidate);
    // Thousands of documents may have one name: they do not all count from 1.
    let number = (isFile && taken.get(key)) || 1;
    for (; isTaken(candidate); number++) candidate = `${parent}${stem} (${number})${extension}`;
    if (isFile && taken.has(key)) taken.set(key, number);
    parent = isFile ? candidate : `${candidate}/`;
    taken.set(fold(parent), 1);
  }
  return parent;
}

const fold = (path: string): string => path.normalize("NFC").toLowerCase();

/** Is the path the directory itself or below it? Both without links. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Resolves a path below an existing directory, as `isBelow` accepts it. Throws usage if a link on the way
 * leads out of the directory.
 */
export async function pathInside(directory: string, path: string, files: Files): Promise<string> {
  const root = await files.realPath(directory);
  const resolved = join(directory, path);
  let real: string | undefined;
  // Not above the directory: if it was removed meanwhile, no link leads out of it.
  for (let below = path; real === undefined; below = dirname(below))
    real = below === "." ? root : await realPathOf(join(directory, below), files);
  if (!isInside(root, real)) {
    throw usage(
      `${resolved} is a link that leads out of ${directory}`,
      "remove the link, or choose another directory",
    );
  }
  return resolved;
}

/** The same for a file to write; creates the directories on the way. */
export async function newPathInside(
  directory: string,
  path: string,
  files: Files,
): Promise<string> {
  await files.makeDirectory(directory);
  await files.makeDirectory(await pathInside(directory, dirname(path), files));
  return join(directory, path);
}

/** Is there a file of a directory that others carry around? Throws usage for a pipe, which may never end. */
export async function hasRegular(path: string, files: Files): Promise<boolean> {
  const found = await files.stat(path);
  if (found && !found.isFile && !found.isDirectory)
    throw usage(`${path} is not a regular file`, "get it from a copy of the directory");
  return found !== null;
}

/** Reads such a file; undefined if it is missing. */
export const readRegular = async (path: string, files: Files): Promise<Uint8Array | undefined> =>
  (await hasRegular(path, files)) ? files.read(path) : undefined;

/** A file that names other files, `-` for stdin, and the directories of --allow-files. */
export interface NamingFile {
  readonly file: string;
  readonly allowed: readonly string[];
}

/**
 * Throws usage for a path that a file names if it leads out of the directory of that file (the current one for
 * stdin and pipes) and of those of --allow-files: rows and suites are often the work of others.
 */
export async function requireNear(
  path: string,
  { file, allowed }: NamingFile,
  { cwd, files }: Pick<RawHost, "cwd" | "files">,
): Promise<void> {
  const stat = await files.stat(path).catch(() => null);
  if (stat === null) return; // the error of reading it says more
  // Undefined for what has no path, such as a deleted file that another process holds open.
  const real = await files.realPath(path).catch(() => undefined);
  const source = file === "-" ? undefined : await realPathOf(file, files);
  for (const each of [source === undefined ? cwd : dirname(source), ...allowed]) {
    const directory = await realPathOf(each, files);
    if (directory !== undefined && real !== undefined && isInside(directory, real)) return;
  }
  throw usage(
    `${file === "-" ? "stdin" : file} names ${path}, which is outside the directory of that file`,
    `if it is meant to be read, add --allow-files ${shellQuote(stat.isDirectory ? path : dirname(path))}`,
  );
}

/** Undefined if nothing exists there. */
async function realPathOf(path: string, files: Files): Promise<string | undefined> {
  try {
    return await files.realPath(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
