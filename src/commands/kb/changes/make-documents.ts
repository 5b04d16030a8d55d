import { CliError, verdict } from "../../../errors.ts";
import type { ErrorInfo } from "../../../errors.ts";
import { groupDigits, sum } from "../../../lib/numbers.ts";
import { counted, joinedNotes } from "../../../lib/text.ts";
import { applyDocuments } from "./apply-documents.ts";
import type { DocumentTarget } from "./apply-documents.ts";
import { rowOf, sendsContent } from "./change.ts";
import type { Action, Change, DocumentChange, SourceDocument } from "./change.ts";
import { duplicatePath } from "./plan-documents.ts";
import { newTally, tallyText } from "./tally.ts";
import type { RunTally } from "./tally.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { lossNames, readLosses } from "../documents/index.ts";
import type { UploadTarget } from "./upload.ts";

/**
 * Reads the chunks of all documents that changes replace, whatever their status, before any is made: each change
 * names what it loses, and one whose chunks cannot be read fails.
 */
export async function withLosses(
  changes: readonly DocumentChange[],
  { dataset_id, settings: { doc_form } }: Pick<UploadTarget, "dataset_id" | "settings">,
  context: Context,
): Promise<readonly DocumentChange[]> {
  const replaced = changes.flatMap(({ action, document, losses }) =>
    // The questions of a failed document are of no use.
    action === "update" && document && !losses
      ? [{ id: document.id, doc_form: document.error === null ? doc_form : null }]
      : [],
  );
  const found = await readLosses(dataset_id, replaced, context);
  return changes.map((change) => {
    const losses = found.get(change.document?.id ?? "");
    if (losses === undefined) return change;
    if (losses instanceof CliError) return { ...change, action: "failed", note: losses.message };
    return withLost(change, losses.lost);
  });
}

/** A change that names what it loses. */
export function withLost(change: DocumentChange, losses: readonly string[]): DocumentChange {
  const named = losses.length > 0 && `loses ${lossNames(losses)}`;
  return { ...change, losses, note: joinedNotes(change.note, named) };
}

/** What changes lose: `leave.md: chunk 3 (edited)`. */
export const lossesIn = (changes: readonly DocumentChange[]): readonly string[] =>
  changes.flatMap(({ name, losses = [] }) => losses.map((loss) => `${name}: ${loss}`));

/** How the summary and the error name the work. */
export interface Wording {
  readonly verb: "sync" | "import" | "restore";
  readonly noun: "file" | "document" | "row";
  /** Number of documents or files. */
  readonly count: number;
  /** The command line that replaces the documents in conflict. */
  readonly adopt?: string;
  /** Results of files that cannot become a document, part of the count. */
  readonly unfit?: readonly Change[];
}

/**
 * Makes the changes of documents, or plans them in a dry run, and yields their rows. Prints a summary.
 * Throws partial if a document differs from its source at the end.
 */
export async function* makeDocuments(
  planned: readonly DocumentChange[],
  target: DocumentTarget,
  wording: Wording,
  context: Context,
): AsyncGenerator<Change> {
  const results: Change[] = [];
  const changes = await withLosses(planned, target, context);
  const tally = newTally(changes, wording.noun);
  let limit: CliError | undefined;
  try {
    const rows = context.options.dryRun
      ? changes.map(plannedRow)
      : applyDocuments(changes, target, tally, context);
    for await (const row of rows) {
      results.push(row);
      if (row.action !== "unchanged") yield row;
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (!error.info.isResult) throw await endedEarly(error, tally, context);
    limit = error; // all changes have a result
  }
  for (const row of wording.unfit ?? []) {
    results.push(row);
    yield row;
  }
  context.summary(changeSummary(results, changes, wording, context));
  if (limit) throw limit;
  requireMade(results, target.dataset_id, wording, context);
}

/** A planned change, with the size of its source. */
export interface SizedChange extends Change {
  readonly source: Sized | undefined;
}
type Sized = Pick<SourceDocument, "size" | "kind" | "exported">;

/** Adds the tally of an interrupted run to its error; for any other error it is a notice. */
async function endedEarly(error: CliError, tally: RunTally, context: Context): Promise<CliError> {
  const done = tallyText(tally);
  if (!context.host.signal.aborted) {
    if (done !== "") await context.notice(`ended early: ${done}`);
    return error;
  }
  const { uploads, updates, deletes } = tally;
  const isKnown = tally.isIdle && tally.unknown === 0;
  const isCounted = isKnown && uploads.done + updates.done + deletes.done > 0;
  const more: ErrorInfo = {
    // Only writes that were under way have an unknown side effect; those before are counted.
    ...(isKnown && { sideEffect: "none" }),
    ...((isCounted || tally.unknown > 0) && { effect: "" }),
    hint: "run the same command again to resume; completed files are skipped",
  };
  return error.with(more, done === "" ? error.message : `${error.message}: ${done}`);
}

/** The row of a change in a dry run. */
export const plannedRow = (change: DocumentChange): Change => {
  if (sendsContent(change) && change.source) {
    const size = `${sizeOf([change.source])} to index`;
    return rowOf(change, { note: joinedNotes(size, change.note) });
  }
  // It is sent once more, but the same content had no chunks before.
  const error = change.action === "adopt" ? change.document?.error : undefined;
  return rowOf(change, error ? { action: "failed", note: `indexing failed: ${error}` } : {});
};

/** Does it leave a document that differs from its source? A duplicate does not, nor a file that cannot have one. */
export const isOutOfSync = ({ action, id, note }: Change): boolean =>
  ["failed", "conflict"].includes(action) ||
  (action === "skip" && id !== null && note !== duplicatePath);

/** Does the row of a document tell of a change, made or not? */
export const isChange = (row: Change): boolean => row.action !== "skip" || isOutOfSync(row);

/** Throws partial if a result differs from its source. */
export function requireMade(
  results: readonly Change[],
  dataset_id: string,
  { verb, noun, count, unfit = [], adopt }: Wording,
  { options }: Context,
): void {
  const failed = results.filter(isOutOfSync);
  const [first] = failed;
  if (!first) return;
  // Why is in their rows.
  const problem = `${failed.length} of ${counted(count, noun)}`;
  throw verdict(
    "partial",
    `${options.dryRun ? "would fail" : "failed"} to ${verb} ${problem}`,
    {
      failed,
      unfit: unfit.filter(isOutOfSync).map(({ name, note }) => ({ path: name, problem: note })),
    },
    failed.some(({ action }) => action === "conflict") ? adopt : hintFor(first, dataset_id, noun),
  );
}

function hintFor(first: Change, dataset_id: string, noun: Wording["noun"]): string {
  const at = [dataset_id, first.id ?? ""];
  if (first.action === "skip")
    return commandLine(
      /archived/.test(first.note ?? "") ? "kb doc unarchive" : "kb doc enable",
      at,
    );
  if (first.note?.startsWith("exists")) return commandLine("kb doc delete", at);
  return noun !== "document"
    ? "fix them and run the command again"
    : "run the command again; existing documents are kept";
}

/** Words of the summary for the actions of documents, made and planned, in its order. */
const outcomes: Readonly<Partial<Record<Action, readonly [made: string, planned?: string]>>> = {
  create: ["created", "to create"],
  update: ["updated", "to update"],
  adopt: ["with the same content"],
  metadata: ["with new metadata"],
  chunks: ["with other chunks"],
  unchanged: ["unchanged"],
  delete: ["deleted", "to delete"],
  skip: ["skipped"],
  conflict: ["in conflict"],
  failed: ["failed", "would fail"],
  left: ["left"],
};

/**
 * The summary, whose numbers add up: `305 files: 240 created, 63 failed, 2 skipped; documents
 * without a file: 4 deleted; 480,574 characters indexed`.
 */
export function changeSummary(
  results: readonly Change[],
  changes: readonly SizedChange[],
  { verb, noun, count }: Wording,
  { options }: Context,
): string {
  const withoutSource = new Set(changes.flatMap(({ source, id }) => (source ? [] : [id])));
  const isOther = ({ id }: Change) => id !== null && withoutSource.has(id);
  const made = results.filter(({ action }) => action !== "unchanged");
  const unchanged = changes.filter(({ action, source }) => action === "unchanged" && source);
  const { dryRun } = options;
  const counts = countsOf([...made.filter((row) => !isOther(row)), ...unchanged], dryRun);
  const others = countsOf(made.filter(isOther), dryRun);
  const indexed = new Set(results.filter(sendsContent).map(({ name }) => name));
  const sent = changes.filter((each) => sendsContent(each) && indexed.has(each.name));
  const size = sizeOf(sent.flatMap(({ source }) => source ?? []));
  const without = noun === "row" ? "chunks" : "documents";
  const parts = [
    `${groupDigits(count)} ${count === 1 ? noun : `${noun}s`}: ${counts || "nothing to do"}`,
    ...(others === ""
      ? []
      : [`${verb === "restore" ? "others" : `${without} without a ${noun}`}: ${others}`]),
    ...(size === "" ? [] : [`${size} ${dryRun ? "to index" : "indexed"}`]),
  ];
  return parts.join("; ");
}

/** `240 created, 62 failed`, or `240 to create, 62 failed` of a plan. */
export const countsOf = (rows: readonly Pick<Change, "action">[], isPlan: boolean): string =>
  Object.entries(outcomes)
    .flatMap(([action, [made, planned = made]]) => {
      const count = rows.filter((row) => row.action === action).length;
      return count === 0 ? [] : [`${groupDigits(count)} ${isPlan ? planned : made}`];
    })
    .join(", ");

/** `13,438 characters and 22 bytes`. */
export const sizeOf = (sources: readonly Sized[]): string =>
  (["character", "byte"] as const)
    .flatMap((unit) => {
      const size = sum(sources.filter((each) => unitOf(each) === unit).map((each) => each.size));
      return size === 0 ? [] : [`${groupDigits(size)} ${size === 1 ? unit : `${unit}s`}`];
    })
    .join(" and ");

const unitOf = ({ kind, exported }: Sized) => (kind === "text" && !exported ? "character" : "byte");
