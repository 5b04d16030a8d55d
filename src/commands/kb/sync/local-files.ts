import { CliError, reasonOf } from "../../../errors.ts";
import type { Context } from "../../command-spec.ts";
import { sha256 } from "../snapshot/bundle.ts";
import { parseFrontMatter } from "../../../lib/front-matter.ts";
import { kindOf } from "./file-kinds.ts";
import type { FolderFile, Obstacle, FileFilter } from "./walk.ts";

/** Which files of a directory count. */
export interface Selection extends FileFilter {
  /** Before every name, with a `/` between: several directories share one knowledge base. */
  readonly prefix?: string | undefined;
}

/** A file that is to be a document. */
export interface LocalFile {
  /** Relative to the directory, with `/`; with the prefix it identifies the document. */
  readonly path: string;
  /** The same without the prefix. */
  readonly within: string;
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
export interface SkippedFile {
  readonly path: string;
  readonly problem: string;
}

/** What is wrong with files that are no documents at all. */
const otherKind = "the server takes no files of this kind";
const noFile = "it is a loop of links, or no file";

/** Is nothing missing where it is left out? */
export const isUnsupported = ({ problem }: SkippedFile): boolean =>
  problem === otherKind || problem === noFile;

/** Characters that a name may have (server §9.1). */
const longestName = 200;

/**
 * Reads one file. Gives what is wrong with it in place of a document: empty, not UTF-8, not to be
 * read, or of a kind that the server does not take.
 */
export async function fileAt(
  found: FolderFile | Obstacle,
  { prefix }: Selection,
  withFrontMatter: boolean,
  { host: { files } }: Context,
): Promise<LocalFile | SkippedFile> {
  const { path } = found;
  if (found.kind !== "file") return { path, problem: obstacles[found.kind](found.reason) };
  const kind = kindOf(path);
  if (kind === undefined) return { path, problem: otherKind };
  const { place } = found;
  let content: Uint8Array;
  try {
    content = await files.read(place);
  } catch (error) {
    return { path, problem: reasonOf(error) };
  }
  if (content.length === 0) return { path, problem: "it is empty" };
  const text = kind === "text" ? decodeText(content) : undefined;
  if (kind === "text" && text === undefined)
    return { path, problem: "it is not UTF-8 text, as its name says" };
  if (text?.trim() === "") return { path, problem: "it is empty but for white space" };
  const hash = sha256(content);
  const whole = documentPath(path, prefix);
  const front = withFrontMatter && text !== undefined ? await parseFrontMatter(text) : undefined;
  if (front?.kind === "broken")
    return { path, problem: `its front matter is broken, line ${front.line}: ${front.reason}` };
  return {
    path: whole,
    within: documentPath(path, undefined),
    place,
    name: nameFor(whole, kind),
    kind,
    bytes: content.length,
    hash,
    characters: text === undefined ? content.length : charactersOf(text),
    metadata: front?.kind === "good" ? plainValues(front.fields) : {},
  };
}

/**
 * The prefix without slashes at its end, with which every path would have two. Throws usage for one
 * that is no path.
 */
export function prefixOf(text: string | undefined): string | undefined {
  const prefix = text?.replace(/(?<!\/)\/+$/, "");
  if (prefix?.split("/").some((step) => /^\.{0,2}$/.test(step))) {
    throw new CliError("usage", `--prefix ${JSON.stringify(text)} is no path`, {
      sideEffect: "none",
      hint: "--prefix hr or --prefix hr/rules",
    });
  }
  return prefix;
}

/** Code points, counted without making a string of each. */
const charactersOf = (text: string): number =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/**
 * What identifies the document of a file: its path behind the prefix, in the one Unicode form that
 * all machines agree on, as some give accents as letters of their own.
 */
export const documentPath = (path: string, prefix: string | undefined): string =>
  (prefix === undefined ? path : `${prefix}/${path}`).normalize("NFC");

/** What stands in the way of a file; what is no file at all is not missed. */
const obstacles: Readonly<Record<Obstacle["kind"], (reason?: string) => string>> = {
  unreadable: (reason) => `it cannot be read: ${reason}`,
  "broken-link": () => "the link leads nowhere",
  "link-loop": () => noFile,
  "outside-link": () => "the link leads out of the directory",
  "no-file": () => noFile,
};

/** Values as fields take them: lists are joined by commas, dates are Unix seconds. */
const plainValues = (values: Readonly<Record<string, unknown>>): LocalFile["metadata"] =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const plain = plainOf(value);
      return plain === undefined ? [] : [[name, plain]];
    }),
  );

function plainOf(value: unknown): string | number | undefined {
  if (typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "boolean") return String(value);
  if (value instanceof Date) return Math.floor(value.getTime() / 1000);
  if (Array.isArray(value)) return value.map((each) => String(plainOf(each) ?? "")).join(", ");
  return undefined;
}

/** Text as it is sent, or undefined for bytes that are none. */
export function decodeText(content: Uint8Array): string | undefined {
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
export function requireDistinctPaths(files: readonly LocalFile[]): void {
  const known = new Map<string, string>();
  for (const { name, path } of files) {
    const key = name.normalize("NFC").toLowerCase();
    const other = known.get(key);
    if (other !== undefined) {
      throw new CliError("usage", `${other} and ${path} would be documents of one name`, {
        sideEffect: "none",
        hint: "names that differ only in case or in their Unicode form clash: rename one of the files",
      });
    }
    known.set(key, path);
  }
}
