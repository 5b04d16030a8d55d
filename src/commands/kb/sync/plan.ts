import { ambiguousContent, change, duplicatePath, planDocuments } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { contentHashes, readKbState, syncFields } from "../documents/index.ts";
import type { DocumentState } from "../documents/index.ts";
import type { Shard } from "../../task/shard.ts";
import type { Context } from "../../task/command-spec.ts";
import { parseBytes } from "../../../lib/numbers.ts";
import { shortened } from "../../../lib/text.ts";
import type { Source } from "../sources/index.ts";
import {
  documentPath,
  isUnsupported,
  presenceIn,
  syncedDocuments,
  withoutTwins,
} from "./local-files.ts";
import type { Selection, SkippedFile } from "./local-files.ts";
import type { SyncJournal } from "./made-journal.ts";
import { parsePatterns } from "./patterns.ts";
import { listEntries, readFiles, withMetadata } from "./scan.ts";
import type { Spool } from "./spool.ts";

/** What decides how the files of a source and the documents of a knowledge base belong together. */
export interface PlanOptions extends Selection {
  readonly dataset_id: string;
  /** Marks its documents. */
  readonly source: string;
  readonly from: Source;
  readonly spool: Spool;
  readonly prune?: boolean | undefined;
  readonly metadata_from?: "front-matter" | undefined;
  readonly adopt?: boolean | undefined;
  readonly rewrite?: boolean | undefined;
  readonly checksum?: boolean | undefined;
  readonly max_size?: string | undefined;
  readonly metadata?: readonly string[] | undefined;
  readonly match?: readonly string[] | undefined;
}

/** The changes of a sync, and what they follow from. */
export type SyncPlan = Awaited<ReturnType<typeof planSync>>;

/**
 * Reads source and knowledge base, and plans the changes of a sync; nothing is written. `unfit` are the
 * results of files that cannot become a document, `withoutFile` is the number of documents of this source
 * whose file no longer exists, which only `prune` deletes.
 */
export async function planSync(
  journal: SyncJournal,
  input: PlanOptions,
  shard: Shard | undefined,
  context: Context,
) {
  const { dataset_id, prefix, source, from, prune = false, adopt = false, rewrite = false } = input;
  const patterns = parsePatterns(input.metadata ?? [], input.match ?? []);
  const { max_size } = input;
  const maxSize = max_size === undefined ? undefined : parseBytes("--max-size", max_size);
  const { entries: listed, problem } = await listEntries(from, input);
  // The state is read while files are; of the two counts, that of the files is shown first.
  const isRemote = from.address !== undefined;
  let areFilesRead = isRemote;
  const progress: Context["progress"] = (step) => areFilesRead && context.progress(step);
  const readingState = readKbState(dataset_id, { ...context, progress });
  readingState.catch(() => {}); // awaited below
  const isKnown = isRemote && !input.checksum;
  const withFrontMatter = input.metadata_from !== undefined;
  const reading = {
    from,
    prefix,
    shard,
    maxSize,
    withFrontMatter,
    synced: isKnown
      ? syncedDocuments((await readingState).documents, source, withFrontMatter)
      : undefined,
    spool: input.spool,
  };
  const scanned = await readFiles(listed, reading, context);
  const { entries } = scanned;
  areFilesRead = true;
  const state = await readingState;
  const { files, twins } = withoutTwins(withMetadata(scanned.files, patterns, state));

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
    problem === undefined ? [] : [{ path: from.label, problem: `incomplete: ${problem}` }];
  const skipped = [...scanned.skipped, ...twins, ...doubts, ...incomplete];
  const unfit = skipped.map(unfitRow);
  const count = files.length + skipped.length;
  return {
    changes,
    unfit,
    entries,
    files: scanned.files,
    count,
    patterns,
    state,
    documents,
    withoutFile,
    mayExist,
  };
}

/** The objects of documents of this source that its list does not have. */
const unlistedOf = (
  documents: readonly DocumentState[],
  given: Pick<PlanOptions, "source" | "prefix"> & { readonly isPresent: (path: string) => boolean },
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
  change({
    action: isUnsupported(file) ? "skip" : "failed",
    what: "document",
    name: shortened(file.path, 1000) || '""',
    note: file.problem,
  });
