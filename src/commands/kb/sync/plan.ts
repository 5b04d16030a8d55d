import { ambiguousContent, change, duplicatePath, planDocuments } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { contentHashes, readKbState } from "../documents/index.ts";
import type { Shard } from "../../task/shard.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Source } from "../sources/index.ts";
import { isUnsupported, presenceIn, requireDistinctNames } from "./local-files.ts";
import type { SkippedFile } from "./local-files.ts";
import type { SyncJournal } from "./made-journal.ts";
import { parsePatterns } from "./patterns.ts";
import { listEntries, readFiles, withMetadata } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";

/** What decides how the files of a directory and the documents of a knowledge base belong together. */
export interface PlanOptions extends ScanOptions {
  readonly dataset_id: string;
  /** Marks its documents. */
  readonly source: string;
  readonly from: Source;
  readonly adopt?: boolean | undefined;
  readonly rewrite?: boolean | undefined;
  readonly metadata?: readonly string[] | undefined;
  readonly match?: readonly string[] | undefined;
}

/** The changes of a sync, and what they follow from. */
export type SyncPlan = Awaited<ReturnType<typeof planSync>>;

/**
 * Reads directory and knowledge base, and plans the changes of a sync; nothing is written. `unfit` are the
 * results of files that cannot become a document, `withoutFile` is the number of documents of this source
 * whose file no longer exists, which only `prune` deletes.
 */
export async function planSync(
  journal: SyncJournal,
  input: PlanOptions,
  shard: Shard | undefined,
  context: Context,
) {
  const { dataset_id, prefix, source, prune = false, adopt = false, rewrite = false } = input;
  const patterns = parsePatterns(input.metadata ?? [], input.match ?? []);
  const { entries } = await listEntries(input.from, input);
  // The state is read while files are; of the two counts, that of the files is shown first.
  let areFilesRead = false;
  const progress: Context["progress"] = (step) => areFilesRead && context.progress(step);
  const reading = readKbState(dataset_id, { ...context, progress });
  reading.catch(() => {}); // awaited below
  const scanned = await readFiles(entries, { ...input, source: input.from, shard }, context);
  areFilesRead = true;
  const state = await reading;
  const files = withMetadata(scanned.files, patterns, state);
  requireDistinctNames(files);

  const documents = await journal.withMarks(state.documents);
  const ambiguous = ambiguousContent(files, documents);
  const hashes = await contentHashes(dataset_id, ambiguous, context);
  const mayExist = presenceIn(entries, prefix);
  const rules = { source, prune, adopt, rewrite, mayExist };
  const current = { documents, hashes };
  const changes = planDocuments(files, current, rules);
  const pruned = prune ? changes : planDocuments(files, current, { ...rules, prune: true });
  const isWithoutFile = ({ action, note }: Change) => action === "delete" && note !== duplicatePath;
  const withoutFile = pruned.filter(isWithoutFile).length;
  const unfit = scanned.skipped.map(unfitRow);
  return { changes, unfit, entries, scanned, patterns, state, documents, withoutFile, mayExist };
}

/** The result of a file that cannot become a document. */
const unfitRow = (file: SkippedFile): Change =>
  change({
    action: isUnsupported(file) ? "skip" : "failed",
    what: "document",
    name: file.path,
    note: file.problem,
  });
