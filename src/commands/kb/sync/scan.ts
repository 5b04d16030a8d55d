import { mapAll } from "../../../api/concurrent-map.ts";
import { usage } from "../../../errors.ts";
import { isInShard } from "../../task/shard.ts";
import type { Shard } from "../../task/shard.ts";
import type { Context } from "../../task/command-spec.ts";
import { isCustomField, convertValues, typesFor, writtenValue } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import type {
  FileFilter,
  Source,
  SourceEntry,
  SourceList,
  SourceObject,
} from "../sources/index.ts";
import { uploadKind } from "../sources/index.ts";
import { documentPath, isUnchanged, readLocalFile } from "./local-files.ts";
import type { LocalFile, FileReading, SkippedFile } from "./local-files.ts";
import { matchesNone, patternValues } from "./patterns.ts";
import type { Pattern } from "./patterns.ts";

/** Number of files read at a time. */
const concurrency = 16;

/**
 * Lists a source. Throws usage if there is no file and --prune would delete every document; of an incomplete list,
 * nothing is deleted.
 */
export async function listEntries(
  from: Source,
  { prune, include, exclude }: FileFilter & { readonly prune?: boolean | undefined },
): Promise<SourceList> {
  const list = await from.list({ include, exclude });
  const isReadable = list.entries.every(({ path }) => path !== ".");
  const isEmpty = !list.entries.some(({ kind }) => kind === "file");
  if (prune && (!isReadable || (isEmpty && list.problem === undefined)))
    throw usage(`no readable files in ${from.label}; refusing to --prune everything`);
  return list;
}

/** Reads the files of the shard; an entry that is another one under a second name counts as not listed. */
export async function readFiles(
  entries: readonly SourceEntry[],
  reading: FileReading & { readonly shard: Shard | undefined },
  context: Context,
) {
  const { from, prefix, shard } = reading;
  const inShard = entries
    .filter((entry) => entry.kind !== "excluded")
    .filter(({ path }) => isInShard(documentPath(path, prefix), shard));
  let done = 0;
  const count = (current?: string) =>
    context.progress({ verb: "Reading", done, total: inShard.length, unit: "files", current });
  count();
  const isRead = (entry: SourceEntry): entry is SourceObject =>
    entry.kind === "file" && uploadKind(entry.path) !== undefined && !isUnchanged(entry, reading);
  await from.prepare?.(inShard.filter(isRead));
  const read = await mapAll(inShard, from.concurrency ?? concurrency, async (entry) => {
    const file = await readLocalFile(entry, reading);
    done++;
    count(entry.path);
    return file;
  });
  const unread = read.filter((each): each is SkippedFile => !isFile(each));
  const same = new Set(unread.filter(({ kind }) => kind === "same").map(({ path }) => path));
  return {
    files: read.filter(isFile),
    skipped: unread.filter(({ kind }) => kind !== "same"),
    entries: entries.filter(({ path }) => !same.has(path)),
  };
}

const isFile = (each: LocalFile | SkippedFile): each is LocalFile => "hash" in each;

/**
 * Files with their final metadata: front matter and patterns, as the fields store it. Throws usage that
 * names file, field and value.
 */
export function withMetadata(
  readable: readonly LocalFile[],
  patterns: readonly Pattern[],
  { fields }: KbState,
): readonly LocalFile[] {
  const files = readable.map((file) => ({
    ...file,
    metadata: {
      ...Object.fromEntries(Object.entries(file.metadata).filter(([name]) => isCustomField(name))),
      ...patternValues(file.relativePath, patterns),
    },
  }));
  const known = new Map(fields.map(({ name, type }) => [name, type]));
  const types = typesFor(
    known,
    files.map(({ metadata }) => metadata),
  );
  return files.map((file) => ({
    ...file,
    metadata: convertValues(file.metadata, types, file.path, writtenValue),
  }));
}

/** Prints which names of front matter and which patterns a sync does not use. */
export async function noticeUnused(
  files: readonly LocalFile[],
  patterns: readonly Pattern[],
  entries: readonly SourceEntry[],
  context: Context,
): Promise<void> {
  const names = new Set(files.flatMap(({ metadata }) => Object.keys(metadata)));
  const reserved = [...names].filter((name) => !isCustomField(name)).sort();
  if (reserved.length > 0) {
    const shown = reserved.map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
    await context.notice(
      `skipped front matter keys that cannot be field names: ${shown.join(", ")}`,
    );
  }
  const paths = entries
    .filter(({ kind }) => kind === "file")
    .map(({ path }) => documentPath(path, undefined));
  for (const { text } of patterns.filter((pattern) => matchesNone(pattern, paths)))
    await context.notice(`--match ${JSON.stringify(text)} matches no files`);
}
