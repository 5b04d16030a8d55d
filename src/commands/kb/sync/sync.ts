import { CliError, usage, refused } from "../../../errors.ts";
import { contentHashes, readKbState } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import { applySync } from "./apply.ts";
import type { SyncOptions, SyncResult } from "./apply.ts";
import { isUnsupported, parsePrefix, presenceIn, requireDistinctNames } from "./local-files.ts";
import { parsePatterns } from "./patterns.ts";
import { ambiguousContent, planSync, syncFields } from "./plan.ts";
import type { SyncStep } from "./plan.ts";
import { listEntries, noticeUnused, readFiles, withMetadata } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";
import { parseShard } from "./shard.ts";
import type { Shard } from "./shard.ts";
import { noticeSummary, plannedResult, requireInSync } from "./summary.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb sync`. */
export interface SyncInput extends ScanOptions {
  readonly dataset_id: string;
  readonly adopt?: boolean | undefined;
  readonly max_delete?: string | undefined;
  readonly metadata?: readonly string[] | undefined;
  readonly match?: readonly string[] | undefined;
  readonly shard?: string | undefined;
  readonly no_wait?: boolean | undefined;
  readonly wait_for_limit?: boolean | undefined;
  readonly watch?: boolean | undefined;
  readonly concurrency?: number | undefined;
}

/** Default number of uploads at a time; a default server handles ten connections (server §20). */
const defaultConcurrency = 3;
/** ms without a change before a watched directory is synced. */
const debounceMs = 500;

/** Syncs a directory to a knowledge base, once or after every change. */
export async function* run(args: SyncInput, context: Context): AsyncGenerator<SyncResult> {
  const input = { ...args, prefix: parsePrefix(args.prefix) };
  maxDeletes(input, 0); // throws for an invalid value
  const shard = parseShard(input.shard, context.host.env);
  if (input.prune && shard && shard.index !== 1) {
    throw usage("--prune works only in shard 1, after the other shards");
  }
  if (input.watch) yield* watchDirectory(input, shard, context);
  else yield* syncOnce(input, shard, context);
}

async function* watchDirectory(
  input: SyncInput,
  shard: Shard | undefined,
  context: Context,
): AsyncGenerator<SyncResult> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const changes = context.host.files.watch(input.directory, signal)[Symbol.asyncIterator]();
  try {
    for (let next = changes.next(), isFirst = true; ; isFirst = false) {
      try {
        yield* syncOnce(input, shard, context);
      } catch (error) {
        if (!(error instanceof CliError) || !isTransient(error, isFirst)) throw error;
        await context.notice(`${error.message}; retrying after the next change`);
      }
      await context.notice(`watching ${input.directory}; press Ctrl-C to stop`);
      await next.catch((error: unknown) => {
        throw context.signal.aborted ? idleAbort(context) : error;
      });
      next = changes.next();
      for (let isQuiet = false; !isQuiet;) {
        const delay = context.host.sleep(debounceMs, context.signal).then(() => true);
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
const idleAbort = (context: Context): CliError =>
  context.abortError().with({ sideEffect: undefined });

/** Can the next sync of a watched directory succeed? In the first one, the address may be wrong. */
const isTransient = ({ kind, info: { retryable } }: CliError, isFirst: boolean): boolean =>
  kind === "partial" || (!isFirst && (kind === "network" || retryable === true));

async function* syncOnce(
  input: SyncInput,
  shard: Shard | undefined,
  context: Context,
): AsyncGenerator<SyncResult> {
  const { dataset_id, prefix, prune = false, adopt = false } = input;
  const source = prefix ?? ".";
  const patterns = parsePatterns(input.metadata ?? [], input.match ?? []);
  const entries = await listEntries(input, context);
  // The state is read while files are.
  const reading = readKbState(dataset_id, context);
  reading.catch(() => {}); // awaited below
  const scanned = await readFiles(entries, input, shard, reading, context);
  const state = await reading;
  const files = withMetadata(scanned.files, patterns, state);
  requireDistinctNames(files);

  const { documents } = state;
  const ambiguous = ambiguousContent(files, documents);
  const hashes = await contentHashes(dataset_id, ambiguous, context);
  const mayExist = presenceIn(entries, prefix);
  const steps = planSync(files, { documents, hashes }, { source, prune, adopt, mayExist });
  await noticeUnused(scanned, input.match ? patterns : [], entries, context);

  const results: SyncResult[] = [];
  if (context.options.dryRun) {
    results.push(...steps.map(plannedResult));
    yield* results.filter(({ action }) => action !== "unchanged");
    await noticeSummary(results, steps, files.length, context);
  } else {
    const owned = documents.filter(({ metadata }) => metadata[syncFields.source] === source);
    await confirmDeletes(steps, owned.length, input, context);
    requireTechnique(steps, state, dataset_id);
    try {
      for await (const result of applySync(steps, optionsFor(input, state, context), context)) {
        results.push(result);
        yield result;
      }
    } catch (error) {
      if (!context.signal.aborted || !(error instanceof CliError)) throw error;
      const hint = "run the same command again to resume; completed files are skipped";
      throw new CliError(error.kind, error.message, { ...error.info, hint });
    } finally {
      await noticeSummary(results, steps, files.length, context);
    }
  }
  const invalid = scanned.skipped.filter((each) => !isUnsupported(each));
  const total = scanned.files.length + scanned.skipped.length;
  requireInSync(results, invalid, total, dataset_id);
}

function optionsFor(input: SyncInput, state: KbState, context: Context): SyncOptions {
  const { dataset_id, prefix, shard, concurrency, no_wait, wait_for_limit } = input;
  const { indexing_technique, doc_form } = state.settings;
  return {
    dataset_id,
    source: prefix ?? ".",
    indexing_technique: (indexing_technique ?? "economy") as "economy",
    doc_form,
    isEmpty: state.documents.length === 0,
    newestId: state.documents.at(-1)?.id,
    limiter: context.limitConcurrency(concurrency ?? (shard ? 1 : defaultConcurrency)),
    wait: !no_wait,
    waitForLimit: wait_for_limit ?? false,
  };
}

function requireTechnique(
  steps: readonly SyncStep[],
  { settings }: KbState,
  dataset_id: string,
): void {
  if (settings.indexing_technique !== null) return;
  if (steps.every(({ action }) => action !== "create")) return;
  throw refused(
    "the knowledge base has no indexing technique",
    `kb update id:${dataset_id} --indexing-technique economy`,
  );
}

async function confirmDeletes(
  steps: readonly SyncStep[],
  total: number,
  input: SyncInput,
  context: Context,
): Promise<void> {
  const count = steps.filter(({ action }) => action === "delete").length;
  if (count > maxDeletes(input, total))
    await context.confirm(`Delete ${count} of ${total} documents (more than --max-delete)?`);
}

/** Number of documents that may be deleted without a prompt: `20%` of 40 → 8. Throws usage. */
function maxDeletes({ max_delete = "20%" }: SyncInput, total: number): number {
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
