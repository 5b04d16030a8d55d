import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError, withInfo } from "../../../errors.ts";
import { sha256 } from "../snapshot/bundle.ts";
import { readContents } from "../snapshot/contents.ts";
import { stateOf } from "../snapshot/state.ts";
import type { KbState } from "../snapshot/state.ts";
import { unchangedSince } from "./git.ts";
import { applySync } from "./apply.ts";
import type { SyncResult } from "./apply.ts";
import { walkFiles } from "./walk.ts";
import type { FoundEntry } from "./walk.ts";
import {
  documentPath,
  fileAt,
  isUnsupported,
  prefixOf,
  requireDistinctPaths,
} from "./local-files.ts";
import type { LocalFile, Selection, SkippedFile } from "./local-files.ts";
import { fittingValues, typesFor } from "../documents/field-values.ts";
import { fitsNone, patternValues, patternsOf } from "./patterns.ts";
import type { Pattern } from "./patterns.ts";
import { ambiguousContent, fields, isOwnField, isSettled, planSync, secondOne } from "./plan.ts";
import type { SyncStep } from "./plan.ts";
import { isInShard, shardOf } from "./shard.ts";
import type { Shard } from "./shard.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb sync`. */
export interface SyncInput extends Selection {
  readonly dataset_id: string;
  readonly directory: string;
  readonly prune?: boolean | undefined;
  readonly adopt?: boolean | undefined;
  readonly max_delete?: string | undefined;
  readonly metadata_from?: "front-matter" | undefined;
  readonly metadata?: readonly string[] | undefined;
  readonly match?: readonly string[] | undefined;
  readonly shard?: string | undefined;
  readonly since?: string | undefined;
  readonly no_wait?: boolean | undefined;
  readonly wait_for_limit?: boolean | undefined;
  readonly watch?: boolean | undefined;
  readonly concurrency?: number | undefined;
}

/** Uploads at once, where nothing is said: a stock server serves ten connections (server §20). */
const usualLanes = 3;
/** Files read at once. */
const readers = 16;
/** ms without a further change before a directory that is watched is synced. */
const calm = 500;

/** Makes a knowledge base hold what a directory holds, once, or again after every change. */
export async function* run(given: SyncInput, context: Context): AsyncGenerator<SyncResult> {
  const input = { ...given, prefix: prefixOf(given.prefix) };
  mostDeletes(input, 0); // refuses what is no number
  const shard = shardOf(input.shard, context.host.env);
  if (input.prune && shard && shard.index !== 1) {
    throw new CliError("usage", "--prune is for shard 1 alone, when the others have ended", {
      sideEffect: "none",
    });
  }
  if (!input.watch) {
    yield* once(input, shard, context);
    return;
  }
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const changes = context.host.files.watch(input.directory, signal)[Symbol.asyncIterator]();
  try {
    for (let next = changes.next(), begun = false; ; begun = true) {
      try {
        yield* once(input, shard, context);
      } catch (error) {
        if (!(error instanceof CliError) || !passes(error, begun)) throw error;
        await context.notice(`${error.message}; the next change tries again`);
      }
      await context.notice(`watching ${input.directory}; Ctrl-C ends it`);
      await next.catch((error: unknown) => {
        throw context.signal.aborted ? idle(context) : error;
      });
      next = changes.next();
      for (let quiet = false; !quiet;) {
        const wait = context.host.sleep(calm, context.signal).then(() => true);
        quiet = await Promise.race([wait, next.then(() => false)]).catch(() => {
          throw idle(context);
        });
        if (!quiet) next = changes.next();
      }
    }
  } finally {
    stop.abort();
  }
}

/** The end of a watch that waits for changes: nothing is on its way of which more were to be told. */
const idle = (context: Context): CliError =>
  withInfo(context.abortError(), { sideEffect: undefined });

/** May the next sync of a watched directory succeed? What was never reached has a wrong address. */
const passes = ({ kind, info: { retryable } }: CliError, begun: boolean): boolean =>
  kind === "partial" || (begun && (kind === "network" || retryable === true));

async function* once(
  input: SyncInput,
  shard: Shard | undefined,
  context: Context,
): AsyncGenerator<SyncResult> {
  const { dataset_id, directory, prefix, prune = false, adopt = false } = input;
  const source = prefix ?? ".";
  const patterns = patternsOf(input.metadata ?? [], input.match ?? []);
  const all: FoundEntry[] = [];
  for await (const each of walkFiles(directory, input, context.host.files)) all.push(each);
  const unreadable = all.some(({ path }) => path === ".");
  if (prune && (unreadable || !all.some(({ kind }) => kind === "file"))) {
    throw new CliError(
      "usage",
      `no file can be read in ${directory}, and --prune would delete every document`,
      {
        sideEffect: "none",
      },
    );
  }
  // The server is asked while the files are read; only --since has to wait for its answer.
  const asked = stateOf(dataset_id, context);
  asked.catch(() => {}); // told where it is waited for
  const whole = (path: string) => documentPath(path, prefix);
  const share = all
    .filter((each) => each.kind !== "left-out")
    .filter(({ path }) => isInShard(whole(path), shard));
  const looked = await wantedPaths(share, input, asked, whole, context);
  const read = await mapAll(looked, readers, (found) =>
    fileAt(found, input, input.metadata_from !== undefined, context),
  );
  const state = await asked;
  const readable = read.filter(isFile);
  const files = typedFiles(readable, patterns, state);
  const unfit = read.filter((each): each is SkippedFile => !isFile(each));
  requireDistinctPaths(files);

  const sums = new Map<string, string | null>();
  for await (const { document, bytes } of readContents(
    dataset_id,
    ambiguousContent(files, state.documents),
    context,
  ))
    sums.set(document.id, bytes ? sha256(bytes) : null);
  const isThere = presence(all, whole);
  const steps = planSync(
    files,
    { documents: state.documents, sums },
    { source, prune, adopt },
  ).filter(({ action, path, note }) => action !== "delete" || note !== null || !isThere(path));
  await tellNames(readable, context);
  if (input.match) {
    const paths = all
      .filter(({ kind }) => kind === "file")
      .map(({ path }) => documentPath(path, undefined));
    for (const pattern of patterns.filter((each) => fitsNone(each, paths)))
      await context.notice(`--match ${JSON.stringify(pattern.text)} fits no file`);
  }
  const [others, mistakes] = [
    unfit.filter(isUnsupported),
    unfit.filter((each) => !isUnsupported(each)),
  ];
  for (const { path, problem } of mistakes) await context.notice(`${path} is left out: ${problem}`);
  if (others.length > 0) {
    const kinds = new Set(others.map(({ path }) => path.slice(path.lastIndexOf(".") + 1)));
    await context.notice(
      `${others.length} ${others.length === 1 ? "file is left out, which is no document" : "files are left out, which are no documents"}: ${[...kinds].sort().join(", ")}`,
    );
  }

  const own = state.documents.filter(({ metadata }) => metadata[fields.source] === source);
  if (context.options.dryRun) {
    yield* steps.filter(({ action }) => action !== "unchanged").map(planned);
    await tell(steps.map(planned), files.length, steps, "would be", context);
    requireAll(steps.map(planned), mistakes, read.length, dataset_id);
    return;
  }
  await confirmDeletes(steps, own.length, input, context);
  const results: SyncResult[] = [];
  const technique = state.settings.indexing_technique;
  if (technique === null && steps.some(({ action }) => action === "create")) {
    throw new CliError("refused", "the knowledge base has no indexing technique yet", {
      sideEffect: "none",
      hint: `kb update ${dataset_id} --indexing-technique economy (or high_quality)`,
    });
  }
  const how = {
    dataset_id,
    source,
    indexing_technique: (technique ?? "economy") as "economy",
    doc_form: state.settings.doc_form,
    first: state.documents.length === 0,
    newest: state.documents.at(-1)?.id,
    lanes: context.limitConcurrency(input.concurrency ?? (shard ? 1 : usualLanes)),
    wait: !input.no_wait,
    waitForLimit: input.wait_for_limit ?? false,
  };
  try {
    for await (const result of applySync(steps, how, context)) {
      results.push(result);
      yield result;
    }
  } catch (error) {
    if (!context.signal.aborted || !(error instanceof CliError)) throw error;
    throw new CliError(error.kind, error.message, {
      ...error.info,
      hint: "the same command goes on: what is done is not done again",
    });
  } finally {
    await tell(results, files.length, steps, "were", context);
  }
  requireAll(results, mistakes, read.length, dataset_id);
}

/** Throws partial where a file is not in the knowledge base, or a document that should go still is. */
function requireAll(
  results: readonly SyncResult[],
  mistakes: readonly SkippedFile[],
  files: number,
  dataset_id: string,
): void {
  const failed = results.filter(isMissed);
  const bad = failed.length + mistakes.length;
  if (bad === 0) return;
  const [first] = failed;
  const why = first ? `: ${first.path}: ${first.note}` : "";
  const what = `${bad} of ${files} files not synced`;
  throw new CliError("partial", `${what}${why}`, {
    isResult: true,
    details: { failed, unfit: mistakes },
    hint: hintFor(first, dataset_id),
  });
}

/** Is something not as the directory says? A second document of a path takes nothing away. */
export const isMissed = ({ action, note }: Pick<SyncResult, "action" | "note">): boolean =>
  action === "failed" || action === "conflict" || (action === "skip" && note !== secondOne);

/** One line that mends the first failure. */
function hintFor(first: SyncResult | undefined, dataset_id: string): string {
  if (first?.action === "conflict") return "add --adopt to take over the document of that name";
  if (first?.action !== "skip") return "repeat the command when they are mended";
  const archived = /archived/.test(first.note ?? "");
  return `kb doc ${archived ? "unarchive" : "enable"} id:${dataset_id} id:${first.document_id}`;
}

/** Files with their values as the fields store them. Throws usage that names file, field and value. */
function typedFiles(
  readable: readonly LocalFile[],
  patterns: readonly Pattern[],
  { fields: there }: KbState,
): readonly LocalFile[] {
  const files = readable.map((file) => ({
    ...file,
    metadata: {
      ...Object.fromEntries(Object.entries(file.metadata).filter(([name]) => isOwnField(name))),
      ...patternValues(file.within, patterns),
    },
  }));
  const known = new Map(there.map(({ name, type }) => [name, type]));
  const types = typesFor(
    known,
    files.map(({ metadata }) => metadata),
  );
  return files.map((file) => ({
    ...file,
    metadata: fittingValues(file.metadata, types, file.path),
  }));
}

const isFile = (each: LocalFile | SkippedFile): each is LocalFile => "hash" in each;

/**
 * Tells of a path in the knowledge base whether its file may be there: of the whole directory,
 * whatever the share. Nobody knows what lies below a folder that was left out or cannot be read.
 */
function presence(all: readonly FoundEntry[], whole: (path: string) => string) {
  const present = new Set(all.map(({ path }) => whole(path)));
  const closed = new Set(all.filter(({ kind }) => kind !== "file").map(({ path }) => whole(path)));
  return (path: string): boolean =>
    present.has(path) ||
    [...path.matchAll(/\//g)].some(({ index }) => closed.has(path.slice(0, index)));
}

/** Says which names in front matter are left out, as no field can be called so. */
async function tellNames(files: readonly LocalFile[], context: Context): Promise<void> {
  const all = new Set(files.flatMap(({ metadata }) => Object.keys(metadata)));
  const unfit = [...all].filter((name) => !isOwnField(name)).sort();
  if (unfit.length === 0) return;
  const shown = unfit.map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
  await context.notice(
    `left out of front matter, as they are no names of fields: ${shown.join(", ")}`,
  );
}

/** With --since, files that git calls unchanged and that the server has are taken as they are. */
async function wantedPaths<T extends { readonly path: string }>(
  found: readonly T[],
  { since, directory }: SyncInput,
  asked: Promise<KbState>,
  whole: (path: string) => string,
  context: Context,
): Promise<readonly T[]> {
  if (since === undefined) return found;
  const unchanged = await unchangedSince(since, directory, context);
  const { documents } = await asked;
  const there = new Set(documents.filter(isSettled).map(({ metadata }) => metadata[fields.path]));
  return found.filter(
    ({ path }) => !unchanged.has(documentPath(path, undefined)) || !there.has(whole(path)),
  );
}

const planned = (step: SyncStep): SyncResult => {
  const { action, path, document, file } = step;
  const embeds = action === "create" || action === "update";
  const note = embeds && file ? `${file.characters} characters to embed` : step.note;
  return { action, path, document_id: document?.id ?? null, note };
};

/** Asks before more is deleted than is usual; what is unusual is a share or a number. */
async function confirmDeletes(
  steps: readonly SyncStep[],
  total: number,
  input: SyncInput,
  context: Context,
): Promise<void> {
  const count = steps.filter(({ action }) => action === "delete").length;
  if (count > mostDeletes(input, total))
    await context.confirm(`Delete ${count} of ${total} documents (--max-delete)?`);
}

/** Deletes of so many documents that need no question. Throws usage. */
function mostDeletes({ max_delete = "20%" }: SyncInput, total: number): number {
  const [, number = "", percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(max_delete) ?? [];
  if (number === "") {
    throw new CliError(
      "usage",
      `--max-delete ${JSON.stringify(max_delete)} is no number or share`,
      {
        sideEffect: "none",
        hint: "--max-delete 50 or --max-delete 20%",
      },
    );
  }
  return percent ? (Number(number) / 100) * total : Number(number);
}

async function tell(
  results: readonly SyncResult[],
  files: number,
  steps: readonly SyncStep[],
  verb: string,
  context: Context,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { action } of results) counts.set(action, (counts.get(action) ?? 0) + 1);
  const unchanged = steps.filter(({ action }) => action === "unchanged").length;
  counts.set("unchanged", unchanged);
  const words: Readonly<Record<string, string>> = {
    create: "created",
    update: "updated",
    adopt: "adopted",
    metadata: "given new values",
    delete: "deleted",
    skip: "skipped",
    conflict: "in conflict",
  };
  const parts = [...counts]
    .filter(([, count]) => count > 0)
    .map(([action, count]) => `${count} ${words[action] ?? action}`);
  const sent = new Set(
    results
      .filter(({ action }) => action === "create" || action === "update")
      .map(({ path }) => path),
  );
  const characters = steps.reduce(
    (sum, { path, file, action }) =>
      sum +
      (sent.has(path) && (action === "create" || action === "update")
        ? (file?.characters ?? 0)
        : 0),
    0,
  );
  await context.notice(
    `${files} files: ${parts.join(", ") || "nothing"}; ${characters} characters ${verb} embedded`,
  );
}
