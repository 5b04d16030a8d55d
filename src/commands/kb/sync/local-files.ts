import { CliError, isFatal, reasonOf, usage } from "../../../errors.ts";
import { markedEncoding } from "../../../lib/formats/encoding.ts";
import { parseFrontMatter } from "../../../lib/formats/yaml.ts";
import { groupBy } from "../../../lib/collect.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { countCharacters, decodeText, unicodeForm, withoutMark } from "../../../lib/text.ts";
import type { SourceDocument } from "../changes/index.ts";
import { isKnownToHold, syncFields } from "../documents/index.ts";
import type { DocumentState, FieldValue } from "../documents/index.ts";
import {
  contentFixes,
  pointerProblem,
  recoded,
  SameObject,
  textProblem,
  uploadKind,
} from "../sources/index.ts";
import type { Content, Obstacle, Source, SourceEntry, SourceObject } from "../sources/index.ts";
import { isNumeric } from "../../../lib/exact-number.ts";
import type { Context } from "../../task/command-spec.ts";

/** A file to store as a document; its path has `/` and comes after the prefix. */
export interface LocalFile extends SourceDocument {
  /** The path without the prefix. */
  readonly relativePath: string;
}

/** A file that cannot become a document, and why. */
export interface SkippedFile {
  readonly path: string;
  readonly problem: string;
  /** Set if it cannot be read as a file. */
  readonly kind?: Obstacle["kind"] | "same";
}

const unsupportedType = "unsupported file type";
const tooLarge = "larger than --max-size";

/** Is it a file that a sync skips without an error? */
export const isUnsupported = ({ problem, kind }: SkippedFile): boolean =>
  problem === unsupportedType || problem === tooLarge || kind === "link-loop";

/** Limit for the name of a document; the server truncates longer ones (server §9.1). */
export const MAX_NAME_LENGTH = 200;

/** How files are read. */
export interface FileReading {
  readonly from: Source;
  /** Put before each path, with `/`, so that several directories can share a knowledge base. */
  readonly prefix?: string | undefined;
  readonly withFrontMatter: boolean;
  readonly encoding?: string | undefined;
  /** Most bytes of a file. */
  readonly maxSize?: number | undefined;
  /** The documents that this source may know to be unchanged, by the path of their file. */
  readonly synced?: ReadonlyMap<string, SyncedDocument> | undefined;
  /** Keeps contents that are not files of this machine. */
  readonly spool?: Spool | undefined;
}

/** What a document says of the content that it was synced with. */
export interface SyncedDocument {
  readonly hash: string;
  /** The fingerprint of the source, and its mark. */
  readonly fingerprint: string;
  readonly mark: string;
}

/** Reads a file unless it is known to be unchanged, or reports why it cannot become a document. */
export async function readLocalFile(
  entry: SourceObject | Obstacle,
  reading: FileReading,
): Promise<LocalFile | SkippedFile> {
  const { prefix, from, maxSize = Infinity, synced, spool } = reading;
  const { path } = entry;
  if (entry.kind !== "file") return entry;
  const kind = uploadKind(path);
  if (kind === undefined) return { path, problem: unsupportedType };
  if ((entry.size ?? 0) > maxSize) return { path, problem: tooLarge };
  const fullPath = documentPath(path, prefix);
  const known = synced?.get(fullPath);
  const file = {
    path: fullPath,
    relativePath: documentPath(path, undefined),
    location: entry.location ?? path,
    name: documentName(fullPath, kind),
    kind,
    size: entry.size ?? 0,
    metadata: entry.metadata ?? {},
  } as const;
  const unchanged = known && { ...file, hash: known.hash, fingerprint: known.mark };
  if (unchanged && isUnchanged(entry, reading)) return unchanged;
  let content: Content | undefined;
  let bytes: Uint8Array = new Uint8Array();
  try {
    content = await from.get(entry, known?.fingerprint);
    if (content) bytes = await recoded(path, content.bytes, reading.encoding);
  } catch (error) {
    if (error instanceof CliError && isFatal(error)) throw error;
    const kind = error instanceof SameObject ? ({ kind: "same" } as const) : {};
    return { path, problem: reasonOf(error), ...kind };
  }
  if (!content) return unchanged ?? { path, problem: "the source has no content for it" };
  const { bytes: stored, fingerprint = entry.fingerprint } = content;
  if (stored.length > maxSize) return { path, problem: tooLarge };
  const sent = kind === "text" ? withoutMark(bytes) : bytes;
  const checked = await checkedText(path, sent, reading.withFrontMatter);
  if ("problem" in checked) return checked;
  const isFile = entry.location !== undefined && bytes === stored;
  const read = isFile ? undefined : await spool?.put(bytes);
  const encoding = bytes === stored ? undefined : markedEncoding(stored);
  return {
    ...file,
    hash: sha256(sent),
    ...(sent.length < bytes.length && { markedHash: sha256(bytes) }),
    size: checked.size,
    metadata: { ...checked.metadata, ...file.metadata, ...content.metadata },
    ...(fingerprint !== undefined && {
      fingerprint: fingerprintMark(fingerprint, entry.size, reading),
    }),
    ...(read && { read }),
    ...(encoding !== undefined && { encoding }),
  };
}

/** Does the document of an object have its fingerprint? */
export function isUnchanged(object: SourceObject, reading: FileReading): boolean {
  const { fingerprint, size, path } = object;
  const known = reading.synced?.get(documentPath(path, reading.prefix));
  return fingerprint !== undefined && known?.mark === fingerprintMark(fingerprint, size, reading);
}

/** The size to index of a content and its front matter, or why it cannot become a document. */
async function checkedText(
  path: string,
  bytes: Uint8Array,
  withFrontMatter: boolean,
): Promise<SkippedFile | Pick<LocalFile, "size" | "metadata">> {
  if (bytes.length === 0) return { path, problem: "the file is empty" };
  const isText = uploadKind(path) === "text";
  const unfit = pointerProblem(bytes) ?? (isText ? textProblem(bytes) : undefined);
  if (unfit) return { path, problem: `${unfit.problem}: ${contentFixes[unfit.finding]}` };
  if (!isText) return { size: bytes.length, metadata: {} };
  const text = decodeText(bytes) ?? "";
  if (text.trim() === "") return { path, problem: "the file contains only whitespace" };
  const front = withFrontMatter ? await parseFrontMatter(text) : undefined;
  if (front?.kind === "broken")
    return { path, problem: `invalid front matter, line ${front.line}: ${front.reason}` };
  const metadata = front?.kind === "good" ? plainValues(front.fields) : {};
  return { size: countCharacters(text), metadata };
}

/** The way in which contents are read; another one makes all fingerprints count as new. */
const READING = 2;

/** The mark of a fingerprint, with what else decides about content and metadata, and with the size, as a second sign. */
const fingerprintMark = (
  fingerprint: string,
  size: number | undefined,
  reading: FileReading,
): string => `${wayOf(reading)}:${size ?? ""}:${fingerprint}`;

type Way = Pick<FileReading, "withFrontMatter" | "encoding">;

const wayOf = ({ withFrontMatter, encoding = "" }: Way): string =>
  `${READING}${withFrontMatter ? "f" : ""}${encoding.replace(/\W/g, "_")}`;

/** The documents of a source that have a content of it and its fingerprint, by the path of their file. */
export const syncedDocuments = (
  documents: readonly DocumentState[],
  source: string,
  reading: Way,
): ReadonlyMap<string, SyncedDocument> =>
  new Map(
    documents.flatMap((document): (readonly [string, SyncedDocument])[] => {
      const { path, hash, source: owner, fingerprint } = syncFields;
      const { [path]: at, [hash]: content, [fingerprint]: mark, [owner]: of } = document.metadata;
      const [, way, given] = /^(\w+):\d*:(.*)$/s.exec(String(mark)) ?? [];
      const isIndexed = /^[0-9a-f]{64}$/.test(String(content)); // not "pending:…"
      const isOwn = of === source && isKnownToHold(document, { hash: String(content) });
      const isValid = isOwn && isIndexed && document.indexing_status !== "error";
      if (!isValid || given === undefined || way !== wayOf(reading)) return [];
      return [[String(at), { hash: String(content), fingerprint: given, mark: String(mark) }]];
    }),
  );

/** The prefix without slashes at its end. Throws usage for one that is not a relative path. */
export function parsePrefix(text: string | undefined): string | undefined {
  const prefix = text?.replace(/(?<!\/)\/+$/, "");
  if (prefix?.split("/").some((step) => /^\.{0,2}$/.test(step))) {
    throw usage(
      `invalid --prefix ${JSON.stringify(text)}: not a relative path`,
      "for example --prefix hr or --prefix hr/rules",
    );
  }
  return prefix;
}

/** The path that identifies a document, in Unicode form NFC: some systems store accents as separate characters. */
export const documentPath = (path: string, prefix: string | undefined): string =>
  unicodeForm(prefix === undefined ? path : `${prefix}/${path}`, "NFC");

/** Front matter as metadata: lists are joined with commas, dates become Unix seconds. */
const plainValues = (values: Readonly<Record<string, unknown>>): LocalFile["metadata"] =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const plain = plainValue(value);
      return plain === undefined ? [] : [[name, plain]];
    }),
  );

function plainValue(value: unknown): FieldValue | undefined {
  if (typeof value === "string" || isNumeric(value)) return value;
  if (typeof value === "boolean") return String(value);
  if (value instanceof Date) return Math.floor(value.getTime() / 1000);
  if (Array.isArray(value)) return value.map((each) => String(plainValue(each) ?? "")).join(", ");
  return undefined;
}

/**
 * The name of the document of a file. Uploaded files have `∕` (U+2215) for `/`, which the server does
 * not allow in file names. A path that is too long becomes a piece of its hash and its end:
 * `very/long/…/path.md` → `3f2a9c01b4d7…h/path.md`.
 */
function documentName(path: string, kind: "text" | "file"): string {
  const points = [...(kind === "file" ? path.replaceAll("/", "∕") : path)];
  if (points.length <= MAX_NAME_LENGTH) return points.join("");
  const start = `${sha256(path).slice(0, 12)}…`;
  return start + points.slice(points.length - MAX_NAME_LENGTH + start.length).join("");
}

/** Separates files whose documents would have one name, as each would replace the other; case counts (server §9.1). */
export function withoutTwins(files: readonly LocalFile[]) {
  const byName = groupBy(files, ({ name }) => name);
  const twinsOf = ({ name }: LocalFile) => byName.get(name) ?? [];
  const twins = files.flatMap((file): SkippedFile[] => {
    const other = twinsOf(file).find((each) => each !== file);
    if (!other) return [];
    const same = other.path === file.path ? "another file (in another Unicode form?)" : other.path;
    const problem = `${same} has the same document name: exclude one of them`;
    return [{ path: file.relativePath, problem }];
  });
  return { files: files.filter((file) => twinsOf(file).length === 1), twins };
}

/**
 * Returns a test whether the file of a document may exist in the directory. Nothing is known about
 * files below a directory that is excluded or cannot be read, so they may; nor is it known what a name is meant to be
 * that is not taken, so that a document with the same letters and digits may be its own.
 */
export function presenceIn(
  entries: readonly SourceEntry[],
  prefix: string | undefined,
): (path: string) => boolean {
  const pathOf = ({ path }: SourceEntry) => documentPath(path, prefix);
  const present = new Set(entries.map(pathOf));
  const opaque = new Set(entries.filter(({ kind }) => kind !== "file").map(pathOf));
  const isOmitted = ({ kind, path }: SourceEntry) =>
    (kind !== "file" && kind !== "excluded") || isDamaged(path);
  const meant = new Set(
    entries.filter(isOmitted).map((entry) => lettersOf(pathOf(entry), isDamaged(entry.path))),
  );
  const isMeant = (path: string) => [true, false].some((each) => meant.has(lettersOf(path, each)));
  return (path) =>
    present.has(path) ||
    (meant.size > 0 && isMeant(path)) ||
    [...path.matchAll(/\//g)].some(({ index }) => opaque.has(path.slice(0, index)));
}

/** Has a path bytes that are no text? */
const isDamaged = (path: string): boolean => path.includes("\ufffd");

/** The letters and digits of a path, of which only those of ASCII are left in a damaged one. */
const lettersOf = (path: string, damaged: boolean): string =>
  damaged
    ? `ascii ${path.toLowerCase().replace(/[^a-z0-9]/g, "")}`
    : path.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** Contents that were read to be sent later. */
interface Spool {
  /** Stores a content; returns what reads it. */
  put(bytes: Uint8Array): Promise<() => Promise<Uint8Array>>;
  close(): Promise<void>;
}

/** Bytes that are kept in memory; what comes after goes to a file without a name. */
const MAX_MEMORY = 2 ** 25;

/** Opens a spool: an object of a remote source is read once, though its hash is needed before it is sent. */
export function newSpool({ host: { files, directories } }: Context): Spool {
  let size = 0;
  let end = 0;
  const open = async () => {
    await files.makeDirectory(directories.cache, 0o700);
    return files.scratch(directories.cache);
  };
  let file: ReturnType<typeof open> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return {
    async put(bytes) {
      size += bytes.length;
      if (size <= MAX_MEMORY) return async () => bytes;
      const spool = await (file ??= open());
      const written = last.then(() => spool.append(bytes));
      const start = end;
      end += bytes.length;
      last = written;
      await written;
      return () => readPart(spool.bytes(start), bytes.length);
    },
    close: async () => (await file?.catch(() => undefined))?.close(),
  };
}

async function readPart(bytes: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const part = new Uint8Array(length);
  let at = 0;
  for await (const piece of bytes) {
    part.set(piece.subarray(0, length - at), at);
    at += Math.min(piece.length, length - at);
    if (at === length) break;
  }
  return part;
}
