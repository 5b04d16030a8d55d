import { mapAll } from "../../../api/concurrent-map.ts";
import { usage } from "../../../errors.ts";
import { parseBytes } from "../../../lib/numbers.ts";
import { shortened } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { isInShard } from "../../task/shard.ts";
import type { Shard } from "../../task/shard.ts";
import { ambiguousContent, documentRow, duplicatePath, planDocuments } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import {
  contentHashes,
  convertValues,
  isCustomField,
  readKbState,
  syncFields,
  typesFor,
  writtenValue,
} from "../documents/index.ts";
import type { DocumentState, KbState } from "../documents/index.ts";
import { markOf, openSource, uploadKind } from "../sources/index.ts";
import type { SourceEntry, SourceObject, SourceOptions } from "../sources/index.ts";
import type { statusParams, syncParams } from "./command.ts";
import {
  documentPath,
  isUnchanged,
  isUnsupported,
  presenceIn,
  readLocalFile,
  syncedDocuments,
  withoutTwins,
  newSpool,
} from "./local-files.ts";
import type { LocalFile, SkippedFile } from "./local-files.ts";
import { openSyncJournal } from "./made-journal.ts";
import { parsePatterns, patternValues } from "./patterns.ts";
import type { Pattern } from "./patterns.ts";

/** What decides how the files of a source and the documents of a knowledge base belong together. */
export type PlanFlags = Input<typeof statusParams> & Pick<Input<typeof syncParams>, "rewrite">;

/** What a sync reads from and notes in. */
type OpenSync = Awaited<ReturnType<typeof openSync>>;

/** Opens the source of a sync and its journal; `close` ends both. */
export async function openSync(
  { dataset_id, directory, prefix, encoding }: PlanFlags,
  options: SourceOptions,
  context: Context,
) {
  const from = await openSource(directory, context, { ...options, encoding });
  const source = markOf(from, prefix);
  const spool = newSpool(context);
  const journal = await openSyncJournal(dataset_id, source, context);
  const close = async () => {
    await journal.close();
    await spool.close();
    await from.close?.();
  };
  return { from, source, spool, journal, close };
}

/** The changes of a sync, and what they follow from. */
export type SyncPlan = Awaited<ReturnType<typeof planSync>>;

/**
 * Reads source and knowledge base, and plans the changes of a sync; nothing is written. `unfit` are the
 * results of files that cannot become a document, `withoutFile` is the number of documents of this source
 * whose file no longer exists, which only `prune` deletes.
 */
export async function planSync(
  flags: PlanFlags,
  sync: OpenSync,
  shard: Shard | undefined,
  context: Context,
) {
  const { dataset_id, prefix, prune = false, adopt = false, rewrite = false } = flags;
  const { from, source, journal } = sync;
  const patterns = parsePatterns(flags.metadata ?? [], flags.match ?? []);
  const read = await readBoth(flags, sync, shard, context);
  const { entries, problem, state } = read;
  const { files, twins } = withoutTwins(withMetadata(read.files, patterns, state));
  const documents = await journal.withMarks(state.documents);
  const ambiguous = ambiguousContent(files, documents);
  const hashes = await contentHashes(dataset_id, ambiguous, context);
  const isPresent = presenceIn(entries, prefix);
  const unlisted =
    prune && problem === undefined ? unlistedOf(documents, { source, prefix, isPresent }) : [];
  const { gone, doubts = [] } = (unlisted.length > 0 && (await from.gone?.(unlisted))) || {};
  const goneToo = gone && new Set([...gone].map((path) => documentPath(path, prefix)));
  const isLeft = (path: string) => isPresent(path) || (goneToo !== undefined && !goneToo.has(path));
  const mayExist = problem === undefined ? isLeft : () => true;
  const rules = { source, prune, adopt, rewrite, mayExist };
  const current = { documents, hashes };
  const changes = planDocuments(files, current, rules);
  const pruned = prune ? changes : planDocuments(files, current, { ...rules, prune: true });
  const isWithoutFile = ({ action, note }: Change) => action === "delete" && note !== duplicatePath;
  const withoutFile = pruned.filter(isWithoutFile).length;
  const incomplete =
    problem === undefined ? [] : [{ path: flags.directory, problem: `incomplete: ${problem}` }];
  const skipped = [...read.skipped, ...twins, ...doubts, ...incomplete];
  const unfit = skipped.map(unfitRow);
  const count = files.length + skipped.length;
  const found = { entries, files: read.files, patterns, state, documents };
  return { ...found, changes, unfit, count, withoutFile, mayExist };
}

/**
 * The order in which every sync reads: the list of the source, the state of the knowledge base, and then the files of
 * the shard, except those that the state shows to be unchanged. Throws usage if there is no file and --prune would
 * delete every document. An entry that is another one under a second name counts as not listed.
 */
async function readBoth(
  flags: PlanFlags,
  { from, source, spool }: OpenSync,
  shard: Shard | undefined,
  context: Context,
) {
  const { dataset_id, prefix, prune, include, exclude, max_size } = flags;
  const maxSize = max_size === undefined ? undefined : parseBytes("--max-size", max_size);
  const { entries, problem } = await from.list({ include, exclude });
  const isReadable = entries.every(({ path }) => path !== ".");
  const isEmpty = !entries.some(({ kind }) => kind === "file");
  if (prune && (!isReadable || (isEmpty && problem === undefined)))
    throw usage(`no readable files in ${flags.directory}; refusing to --prune everything`);
  const state = await readKbState(dataset_id, context);
  const way = { withFrontMatter: flags.metadata_from !== undefined, encoding: flags.encoding };
  const isKnown = from.address !== undefined && !flags.checksum;
  const synced = isKnown ? syncedDocuments(state.documents, source, way) : undefined;
  const reading = { from, prefix, maxSize, ...way, synced, spool };
  const inShard = entries
    .filter((entry) => entry.kind !== "excluded")
    .filter(({ path }) => isInShard(documentPath(path, prefix), shard));
  const isRead = (entry: SourceEntry): entry is SourceObject =>
    entry.kind === "file" && uploadKind(entry.path) !== undefined && !isUnchanged(entry, reading);
  await from.prepare?.(inShard.filter(isRead));
  let done = 0;
  const count = (current?: string) =>
    context.progress({ verb: "Reading", done, total: inShard.length, unit: "files", current });
  count();
  const read = await mapAll(inShard, from.concurrency ?? 16, async (entry) => {
    const file = await readLocalFile(entry, reading);
    done++;
    count(entry.path);
    return file;
  });
  const unread = read.filter((each) => !isFile(each));
  const same = new Set(unread.filter(({ kind }) => kind === "same").map(({ path }) => path));
  return {
    state,
    problem,
    entries: entries.filter(({ path }) => !same.has(path)),
    files: read.filter(isFile),
    skipped: unread.filter(({ kind }) => kind !== "same"),
  };
}

const isFile = (each: LocalFile | SkippedFile): each is LocalFile => "hash" in each;

/** Files with the values of front matter and patterns, as fields store them. Throws usage with file, field and value. */
function withMetadata(
  readable: readonly LocalFile[],
  patterns: readonly Pattern[],
  { fields }: KbState,
): readonly LocalFile[] {
  const all = readable.map(({ metadata, relativePath }) => ({
    ...Object.fromEntries(Object.entries(metadata).filter(([name]) => isCustomField(name))),
    ...patternValues(relativePath, patterns),
  }));
  const types = typesFor(new Map(fields.map(({ name, type }) => [name, type])), all);
  return readable.map((file, at) => ({
    ...file,
    metadata: convertValues(all[at] ?? {}, types, file.path, writtenValue),
  }));
}

/** The objects of documents of this source that its list does not have. */
const unlistedOf = (
  documents: readonly DocumentState[],
  given: Pick<PlanFlags, "prefix"> & {
    readonly source: string;
    readonly isPresent: (path: string) => boolean;
  },
) =>
  documents.flatMap(({ metadata }) => {
    const { [syncFields.path]: at, [syncFields.source]: owner, url } = metadata;
    const path = String(at ?? "");
    if (owner !== given.source || path === "" || given.isPresent(path)) return [];
    const start = given.prefix === undefined ? 0 : given.prefix.length + 1;
    return [{ path: path.slice(start), url: url === undefined ? undefined : String(url) }];
  });

/** The result of a file that cannot become a document. */
const unfitRow = (file: SkippedFile): Change =>
  documentRow(
    isUnsupported(file) ? "skip" : "failed",
    { name: shortened(file.path, 1000) || '""', id: null },
    file.problem,
  );
