import { join } from "node:path";
import { CliError } from "../errors.ts";
import type { Context } from "./task.ts";
import { sha256 } from "./kb-bundle.ts";
import { frontMatterOf } from "./front-matter.ts";
import { kindOf } from "./file-kinds.ts";

/** Which files of a directory count. */
export interface Selection {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
  /** Before every name, with a `/` between: several directories share one knowledge base. */
  readonly prefix?: string | undefined;
}

/** A file that is to be a document. */
export interface LocalFile {
  /** Relative to the directory, with `/`; with the prefix it identifies the document. */
  readonly path: string;
  /** Where it lies. */
  readonly place: string;
  /** Name of the document. */
  readonly name: string;
  /** Made from text, or uploaded as a file. */
  readonly kind: "text" | "file";
  readonly bytes: number;
  /** SHA-256 of its bytes. */
  readonly hash: string;
  /** What has to be embedded: characters of a text, bytes of a file. */
  readonly characters: number;
  /** Values of its front matter, where that was asked for. */
  readonly metadata: Readonly<Record<string, string | number>>;
}

/** A file that cannot be a document, and why. */
export interface Unfit {
  readonly path: string;
  readonly problem: string;
}

/** What is wrong with files that are no documents at all. */
export const otherKind = "the server takes no files of this kind";

/** Characters that a name may have (server §9.1). */
const longestName = 200;

/** Paths of the files that count, sorted; those of .kbignore and .gitignore are left out. */
export async function pathsIn(
  directory: string,
  { include = ["**/*"], exclude = [] }: Selection,
  { host: { files } }: Context,
): Promise<readonly string[]> {
  const found = await files.stat(directory);
  if (!found?.isDirectory) {
    throw new CliError("usage", `${directory} is ${found ? "no directory" : "not there"}`, {
      changed: "nothing",
    });
  }
  const paths = await files.walk(directory, include, exclude);
  const { default: ignore } = await import("ignore");
  const rules = ignore();
  const ruled = await files.walk(directory, ["**/.kbignore", "**/.gitignore"], []);
  // Deeper ones later: what they say counts more.
  for (const path of ruled.toSorted((a, b) => a.length - b.length)) {
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const text = new TextDecoder().decode(await files.read(join(directory, path)));
    rules.add(text.split(/\r?\n/).flatMap((line) => inFolder(line, folder)));
  }
  return paths
    .filter((path) => !/(^|\/)\./.test(path) && !rules.ignores(path))
    .sort((a, b) => (a < b ? -1 : 1));
}

/** A line of an ignore file as it would stand in the topmost folder. */
function inFolder(line: string, folder: string): string[] {
  const rule = line.trimEnd();
  if (rule === "" || rule.startsWith("#")) return [];
  if (folder === "") return [rule];
  const not = rule.startsWith("!") ? "!" : "";
  const pattern = rule.slice(not.length);
  const anchored = /\/./.test(pattern);
  return [`${not}${folder}${anchored ? pattern.replace(/^\//, "") : `**/${pattern}`}`];
}

/**
 * Reads one file. Gives what is wrong with it in place of a document: empty, not UTF-8, not to be
 * read, or of a kind that the server does not take.
 */
export async function fileAt(
  directory: string,
  path: string,
  { prefix }: Selection,
  withFrontMatter: boolean,
  { host: { files } }: Context,
): Promise<LocalFile | Unfit> {
  const kind = kindOf(path);
  if (kind === undefined) return { path, problem: otherKind };
  const place = join(directory, path);
  let content: Uint8Array;
  try {
    content = await files.read(place);
  } catch (error) {
    return { path, problem: error instanceof Error ? error.message : String(error) };
  }
  if (content.length === 0) return { path, problem: "it is empty" };
  const text = kind === "text" ? textOf(content) : undefined;
  if (kind === "text" && text === undefined)
    return { path, problem: "it is not UTF-8 text, as its name says" };
  const hash = sha256(content);
  const whole = prefix === undefined ? path : `${prefix}/${path}`;
  const front = withFrontMatter && text !== undefined ? await frontMatterOf(text) : {};
  if (front === undefined) return { path, problem: "its front matter is no YAML mapping" };
  return {
    path: whole,
    place,
    name: nameFor(whole, kind),
    kind,
    bytes: content.length,
    hash,
    characters: text === undefined ? content.length : [...text].length,
    metadata: front,
  };
}

/** Text as it is sent, or undefined for bytes that are none. */
export function textOf(content: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * The path, in an uploaded file's name with `∕` for `/`, which no file name may hold. A path that is
 * too long keeps its end, after a piece of the hash of the whole.
 */
function nameFor(path: string, kind: "text" | "file"): string {
  const points = [...(kind === "file" ? path.replaceAll("/", "∕") : path)];
  if (points.length <= longestName) return points.join("");
  const piece = `${sha256(path).slice(0, 12)}…`;
  return piece + points.slice(points.length - longestName + piece.length).join("");
}

/** Refuses names that the server, or another machine, would take for one. */
export function requireDifferent(files: readonly LocalFile[]): void {
  const known = new Map<string, string>();
  for (const { name, path } of files) {
    const key = name.normalize("NFC").toLowerCase();
    const other = known.get(key);
    if (other !== undefined) {
      throw new CliError("usage", `${other} and ${path} would be documents of one name`, {
        changed: "nothing",
        hint: "names that differ only in case or in their Unicode form clash: rename one of the files",
      });
    }
    known.set(key, path);
  }
}
