import { CliError, refused, stoppedByUser, usage, notFound } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { counted, firstNames, withSlashes, decodeText, withoutMark } from "../../../lib/text.ts";
import { confirmLosses, isAddress, isCustomField, syncFields } from "../documents/index.ts";
import { indexedAgain, lossesIn, makeDocuments, withLosses } from "../changes/index.ts";
import type { Change, DocumentChange } from "../changes/index.ts";
import type { SyncJournal } from "./made-journal.ts";
import { documentPath, parsePrefix } from "./local-files.ts";
import { matchesNone } from "./patterns.ts";
import { openSync, planSync } from "./plan.ts";
import type { SyncPlan, PlanFlags } from "./plan.ts";
import { parseShard, startIn } from "../../task/shard.ts";
import type { Shard } from "../../task/shard.ts";
import type { ProgressStep } from "../../../output/report-model.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  uploadKind,
  contentFixes,
  openSource,
  pointerProblem,
  recoded,
  textProblem,
} from "../sources/index.ts";
import type { SourceOptions, SourceObject } from "../sources/index.ts";
import type { syncParams } from "./command.ts";

/** The flags, how documents are split (default: as the last one of them), and what a file says of the source. */
export type SyncInput = Input<typeof syncParams> & {
  readonly process_rule?: unknown;
  readonly options?: SourceOptions;
};

/** The result of a file or document. */
export interface SyncRow extends Change {
  readonly path: string;
  readonly document_id: string | null;
}

/** ms without a change before a watched directory is synced. */
const debounceMs = 500;

/** Completes the count of the last sync: it must not reappear while nothing is done. */
const idle: ProgressStep = { done: 0, total: 0, unit: "files" };

/** Syncs a source to a knowledge base, or shows the text of one of its files. */
export async function* run(args: SyncInput, context: Context): AsyncGenerator<SyncRow | string> {
  const { show } = args;
  if (show === undefined) return yield* syncDirectory(args, context);
  yield await shownText({ ...args, prefix: parsePrefix(args.prefix), show }, context);
}

/** Syncs a directory or another source to a knowledge base, once or after every change. */
export async function* syncDirectory(args: SyncInput, context: Context): AsyncGenerator<SyncRow> {
  const { options = { isPrivate: args.allow_private } } = args;
  const input = { ...args, options, prefix: parsePrefix(args.prefix) };
  maxDeletes(input, 0); // throws for an invalid value
  const shard = parseShard(input.shard, context.host.env);
  if (input.prune && shard && shard.index !== 1) {
    throw usage("--prune works only in shard 1, after the other shards");
  }
  if (input.watch && isAddress(input.directory)) throw usage("--watch works only for a directory");
  if (input.watch) yield* watchDirectory(input, shard, context);
  else yield* syncOnce(input, shard, context);
}

async function* watchDirectory(input: SyncInput, shard: Shard | undefined, context: Context) {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.host.signal, stop.signal]);
  const noticeNow: Context["summary"] = (text) => void context.notice(text);
  const changes = context.host.files.watch(input.directory, signal)[Symbol.asyncIterator]();
  try {
    for (let next = changes.next(), isFirst = true; ; isFirst = false) {
      try {
        const once = isFirst ? input : { ...input, rewrite: false };
        for await (const row of syncOnce(once, shard, { ...context, summary: noticeNow }))
          if (isFirst || row.action !== "skip" || row.id !== null) yield row;
      } catch (error) {
        if (!(error instanceof CliError) || !isTransient(error, isFirst)) throw error;
        await context.notice(`${error.message}; retrying after the next change`);
      }
      context.progress(idle);
      await context.notice(`watching ${input.directory}; press Ctrl-C to stop`);
      await next.catch((error: unknown) => {
        throw context.host.signal.aborted ? idleAbort(context) : error;
      });
      next = changes.next();
      for (let isQuiet = false; !isQuiet;) {
        const delay = context.host.sleep(debounceMs, context.host.signal).then(() => true);
        isQuiet = await Promise.race([delay, next.then(() => false)]).catch(() => {
          throw idleAbort(context);
        });
        if (!isQuiet) next = changes.next();
      }
    }
  } finally {
    stop.abort();
  }
}

/** The error for an interrupt between two syncs; no request is open whose effect could be unknown. */
function idleAbort(context: Context): CliError {
  const { kind, message } = context.abortError();
  if (kind === "deadline") return new CliError(kind, message);
  return new CliError(kind, "stopped", { code: stoppedByUser });
}

/** Can the next sync of a watched directory succeed? In the first one, the address may be wrong. */
const isTransient = ({ kind, info: { retryable } }: CliError, isFirst: boolean): boolean =>
  kind === "partial" || (!isFirst && (kind === "network" || retryable === true));

async function* syncOnce(
  { options = {}, ...input }: SyncInput,
  shard: Shard | undefined,
  context: Context,
): AsyncGenerator<SyncRow> {
  const sync = await openSync(input, options, context);
  try {
    const plan = await planSync(input, sync, shard, context);
    yield* makePlan(plan, { ...input, ...sync }, shard, context);
  } finally {
    await sync.close();
  }
}

/** Makes the changes of a plan, after what it loses is confirmed. */
async function* makePlan(
  plan: SyncPlan,
  input: SyncInput & { readonly source: string; readonly journal: SyncJournal },
  shard: Shard | undefined,
  context: Context,
): AsyncGenerator<SyncRow> {
  const { dataset_id, source, journal } = input;
  const { documents, state } = plan;
  const changes = await withLosses(plan.changes, { dataset_id, ...state }, context);
  await noticeUnused(plan, input, context);
  if (input.prune) await noticeUnmarked(plan, changes, input, context);
  const creates = changes.some(({ action }) => action === "create");
  if (creates && state.settings.indexing_technique === null)
    throw refused(
      "the knowledge base has no indexing technique",
      commandLine("kb update", [dataset_id], { "indexing-technique": "economy" }),
    );
  const owned = documents.filter(({ metadata }) => metadata[syncFields.source] === source);
  const deleted = changes.filter(({ action }) => action === "delete").map(({ name }) => name);
  await confirmDeletes(deleted.sort(), { ...input, total: owned.length }, "documents", context);
  await confirmRewrites(changes, context);
  const wording = {
    verb: "sync",
    noun: "file",
    count: plan.count,
    unfit: plan.unfit,
    adopt: `to replace those in conflict: ${adoptLine(input)}`,
  } as const;
  const target = { ...input, ...state, source, journal, start: startIn(shard) };
  const { withoutFile } = plan;
  if (withoutFile > 0 && !input.prune && (shard?.index ?? 1) === 1) {
    const [have, them] = withoutFile === 1 ? ["has", "it"] : ["have", "them"];
    context.summary(
      `${counted(withoutFile, "document")} ${have} no file any more; --prune deletes ${them}`,
    );
  }
  for await (const row of makeDocuments(changes, target, wording, context))
    yield { ...row, path: row.name, document_id: row.id };
}

/** The same sync with --adopt. */
export const adoptLine = ({ dataset_id, directory, ...flags }: SyncInput): string =>
  commandLine("kb sync", [dataset_id, directory], {
    ...(flags.rows && { rows: true }),
    map: flags.map,
    "id-column": flags.id_column,
    include: flags.include,
    exclude: flags.exclude,
    prefix: flags.prefix,
    ...(flags.prune && { prune: true }),
    adopt: true,
    encoding: flags.encoding,
    "metadata-from": flags.metadata_from,
    metadata: flags.metadata,
    match: flags.match,
    shard: flags.shard,
  });

/** Prints which names of front matter and which patterns of --match a sync does not use. */
async function noticeUnused(
  { files, entries, patterns }: SyncPlan,
  { match }: SyncInput,
  { notice }: Context,
): Promise<void> {
  const names = new Set(files.flatMap(({ metadata }) => Object.keys(metadata)));
  const reserved = [...names].filter((name) => !isCustomField(name)).sort();
  if (reserved.length > 0) {
    const shown = reserved.map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
    await notice(`skipped front matter keys that cannot be field names: ${shown.join(", ")}`);
  }
  const paths = entries
    .filter(({ kind }) => kind === "file")
    .map(({ path }) => documentPath(path, undefined));
  for (const pattern of match ? patterns : [])
    if (matchesNone(pattern, paths))
      await notice(`--match ${JSON.stringify(pattern.text)} matches no files`);
}

/**
 * Names documents that --prune keeps although an interrupted sync of another machine may have left them:
 * the API made them, no sync marked them, and they have the name of a file that does not exist.
 */
async function noticeUnmarked(
  { documents, mayExist }: SyncPlan,
  changes: readonly DocumentChange[],
  { prefix }: SyncInput,
  { notice }: Context,
): Promise<void> {
  const planned = new Set(changes.map(({ id }) => id));
  const names = documents
    .filter((each) => each.from_api && each.metadata[syncFields.path] === undefined)
    .filter(({ id }) => !planned.has(id))
    .map(({ name }) => name)
    .filter((name) => {
      const path = withSlashes(name);
      const isBelow = prefix === undefined || path.startsWith(`${prefix}/`);
      return isBelow && uploadKind(path) !== undefined && !mayExist(path);
    });
  if (names.length === 0) return;
  const isOne = names.length === 1;
  const what = `${counted(names.length, "document")} that no sync marked ${isOne ? "has" : "have"} no file here`;
  const maybe = `an interrupted sync may have left ${isOne ? "it" : "them"}`;
  await notice(`${what}: ${firstNames(names)}; ${maybe}`);
}

/** Prompts before more is deleted than --max-delete allows; a dry run says that the sync would. */
export async function confirmDeletes(
  deleted: readonly string[],
  { total, ...input }: SyncInput & { readonly total: number },
  noun: string,
  context: Context,
): Promise<void> {
  if (deleted.length <= maxDeletes(input, total)) return;
  const names = firstNames(deleted);
  const what = `${deleted.length} of ${total} ${noun} (more than --max-delete): ${names}`;
  if (context.options.dryRun) await context.notice(`would ask before deleting ${what}`);
  else await context.confirm(`Delete ${what}?`);
}

/** Prompts before unchanged files are sent again whose documents were changed by hand. */
async function confirmRewrites(changes: readonly DocumentChange[], context: Context) {
  const again = changes.filter(({ note }) => note?.startsWith(indexedAgain));
  const question = (lost: string) =>
    `Send ${counted(again.length, "unchanged file")} again and lose ${lost}?`;
  await confirmLosses(lossesIn(again), { question, declined: "nothing was changed" }, context);
}

/** Number that may be deleted without a prompt: `20%` of 40 → 8. Throws usage. */
export function maxDeletes({ max_delete = "20%" }: SyncInput, total: number): number {
  const [, number = "", percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(max_delete) ?? [];
  if (number === "") {
    const text = JSON.stringify(max_delete);
    throw usage(
      `invalid --max-delete ${text}: expected a number or a percentage`,
      "for example --max-delete 50 or --max-delete 20%",
    );
  }
  return percent ? (Number(number) / 100) * total : Number(number);
}

/** The text of a file as a sync sends it: a page as Markdown. Throws usage for a file that is uploaded. */
async function shownText(
  input: PlanFlags & { readonly show: string },
  context: Context,
): Promise<string> {
  if (!context.options.dryRun) throw usage("--show requires --dry-run");
  const { show, encoding, allow_private } = input;
  const { path, bytes: stored } = await readSourceFile(
    input,
    { isPrivate: allow_private },
    context,
  );
  if (uploadKind(path) !== "text")
    throw usage(`${show} is uploaded as it is`, "the server extracts its text");
  const bytes = await recoded(path, stored, encoding);
  const unfit = pointerProblem(bytes) ?? textProblem(bytes);
  if (unfit) throw usage(`${show}: ${unfit.problem}`, contentFixes[unfit.finding]);
  return decodeText(withoutMark(bytes)) ?? "";
}

/** Reads the file of a source that has this path, with or without the prefix, as it is stored. Throws not-found. */
export async function readSourceFile(
  { directory, prefix, show, include, exclude, encoding }: PlanFlags & { readonly show: string },
  options: SourceOptions,
  context: Context,
): Promise<{ readonly path: string; readonly bytes: Uint8Array }> {
  const from = await openSource(directory, context, { ...options, encoding });
  try {
    const { entries } = await from.list({ include, exclude });
    const object = entries.find(
      (each): each is SourceObject =>
        each.kind === "file" &&
        [each.path, documentPath(each.path, prefix)].includes(documentPath(show, undefined)),
    );
    if (!object) throw notFound(`${directory} has no file ${show}`);
    await from.prepare?.([object]);
    return { path: object.path, bytes: (await from.get(object))?.bytes ?? new Uint8Array() };
  } finally {
    await from.close?.();
  }
}
