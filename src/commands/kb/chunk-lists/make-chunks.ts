import { ApiError, CliError, ignoring, isFatal, DryRunShown } from "../../../errors.ts";
import { backoff, delays, poll } from "../../../lib/backoff.ts";
import { collect, slices } from "../../../lib/collect.ts";
import { isObject, valueAt, stringifyJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted } from "../../../lib/text.ts";
import {
  createChildChunk,
  createChunks,
  deleteChildChunk,
  deleteChunk,
  updateChildChunk,
  updateChunk,
} from "../../../operations/chunks.ts";
import { getDocument } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";
import { firstPhase, planChunks, hasSameWords, stepsFor } from "./compare-chunks.ts";
import type { ChunkRules, ChunkStep } from "./compare-chunks.ts";
import { readChunks } from "./stored-chunk.ts";
import type { ChunkPlace, ExistingChunk, StoredChunk } from "./stored-chunk.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { InputOf } from "../../../operations/operation.ts";

/** Chunks that one request appends. */
const APPENDED_TOGETHER = 10;
/** How often the list is read again after responses that were lost, without a step in between. */
const MAX_LOST = 3;
/** Checks of summaries that the server is writing, up to 10 minutes. */
const MAX_CHECKS = 300;

/** The document whose chunks change. */
export type ChunkTarget = ChunkPlace & ChunkRules;

/** How many chunks and child chunks were changed. */
export interface ChunkCounts {
  updated: number;
  added: number;
  deleted: number;
  children: number;
}

/** Makes the chunks of an enabled, indexed document equal to stored ones, see `changeChunks`. */
export const makeChunks = (
  target: ChunkTarget,
  stored: readonly StoredChunk[],
  context: Context,
): Promise<ChunkCounts> =>
  changeChunks(target, (existing) => planChunks(stored, existing, target), context);

/**
 * Changes the chunks of an enabled, indexed document until there is nothing left to do. Its list is read before each phase,
 * after each response that was lost, and at the end: what a killed command or a late request has changed is
 * seen there, and nothing is sent twice. Throws remote-failed for chunks that the server stores otherwise; with
 * `refused`, which gets the reason by the position of the chunk, the others are made all the same.
 */
export async function changeChunks(
  target: ChunkTarget,
  planSteps: (existing: readonly ExistingChunk[]) => readonly ChunkStep[],
  context: Context,
  refused?: Map<number, string>,
): Promise<ChunkCounts> {
  const counts: ChunkCounts = { updated: 0, added: 0, deleted: 0, children: 0 };
  if (target.summaries) await untilSummarized(target, context);
  let last = "";
  let lost = 0;
  let together = APPENDED_TOGETHER;
  const refuse = (steps: readonly ChunkStep[], error: unknown) => {
    const isOfOne = error instanceof CliError && !isFatal(error) && error.kind !== "limited";
    if (!refused || isLost(error) || !isOfOne || context.host.signal.aborted) throw error;
    last = ""; // the same may be planned next
    const [step, other] = steps;
    if (other) together = 1; // it shows which one it is
    else if (step && "to" in step) refused.set(step.to.position, error.message);
    else throw error;
  };
  for (;;) {
    const existing = await collect(readChunks(target, context));
    const isOpen = (step: ChunkStep) => !("to" in step && refused?.has(step.to.position));
    const steps = firstPhase(planSteps(existing).filter(isOpen));
    if (steps.length === 0) return counts;
    const plan = sha256(stringifyJson(steps));
    if (plan !== last) lost = 0;
    else if (lost === 0) {
      const reason = existing.find(({ error }) => error)?.error ?? null;
      for (const some of slices(steps, refused ? 1 : steps.length))
        refuse(some, notStored(some, reason));
      continue;
    }
    last = plan;
    let done = 0;
    try {
      for (const some of requestsOf(steps, together)) {
        try {
          requireIndexed(some, await request(some, target, context));
          for (const step of some) count(counts, step);
        } catch (error) {
          refuse(some, error);
        }
        done += some.length;
        if (refused)
          context.progress({ verb: "Sending", done, total: steps.length, unit: "chunks" });
      }
    } catch (error) {
      if (!isLost(error) || ++lost > MAX_LOST || context.host.signal.aborted) throw error;
      await context.pause(backoff(lost, delays.retry)); // the server may still be working on it
    }
  }
}

/** May the change have been made, or the chunk have gone? Only the list knows. */
const isLost = (error: unknown): boolean =>
  (error instanceof CliError && error.info.sideEffect === "unknown") ||
  (error instanceof ApiError && error.kind === "not-found");

/** Waits until the server has written its summaries, which would replace those that are sent. */
async function untilSummarized({ dataset_id, document_id }: ChunkTarget, context: Context) {
  const input = { dataset_id, document_id, metadata: "without" } as const;
  await poll(
    async () => {
      const status = valueAt(await context.api.call(getDocument, input), "summary_index_status");
      return status === "SUMMARIZING" ? undefined : true;
    },
    { every: delays.indexing, giveUpAfter: MAX_CHECKS, pause: (ms) => context.pause(ms) },
  );
}

/** The steps of each request: this many chunks are appended at a time. */
function* requestsOf(
  steps: readonly ChunkStep[],
  together: number,
): Generator<readonly ChunkStep[]> {
  const appended = steps.filter(({ action }) => action === "append");
  const others = steps.filter(({ action }) => action !== "append");
  yield* slices(others, 1);
  yield* slices(appended, together);
}

const ifDeleted = ignoring("not-found"); // already

/** What a row asks for, and the chunk that it has. */
type WantedChunk = { readonly to: StoredChunk; readonly chunk: ExistingChunk | undefined };

/** Makes the chunks that rows ask for; returns why the server refuses some, by their position: the row. */
export async function changeRows(
  target: ChunkTarget,
  plan: (existing: readonly ExistingChunk[]) => readonly WantedChunk[],
  context: Context,
): Promise<ReadonlyMap<number, string>> {
  const refused = new Map<number, string>();
  const steps = (existing: readonly ExistingChunk[]) => {
    const wanted = plan(existing);
    const pairs = wanted.flatMap(({ to, chunk }) => (chunk ? [[to, chunk] as const] : []));
    const missing = wanted.flatMap(({ to, chunk }) => (chunk ? [] : [to]));
    return stepsFor({ pairs, missing, surplus: [] }, target);
  };
  await changeChunks(target, steps, context, refused);
  return refused;
}

/** Sends the request of steps; returns the response. */
async function request(
  steps: readonly ChunkStep[],
  { dataset_id, document_id, doc_form }: ChunkTarget,
  context: Context,
): Promise<unknown> {
  const { api } = context;
  const place = { dataset_id, document_id };
  const [step] = steps;
  switch (step?.action) {
    case undefined:
      return undefined;
    case "append": {
      const segments = steps.flatMap((each) => ("to" in each ? [newChunk(each.to, doc_form)] : []));
      return api.call(createChunks, { ...place, segments });
    }
    case "update":
    case "keywords":
    case "summarize":
    case "disable": {
      const update = { ...place, segment_id: step.id, ...changeOf(step, doc_form) };
      const { response, lost } = await sendUpdate(update, context);
      if (lost.length > 0) throw notStored(steps, null, lost);
      return response;
    }
    case "delete":
      return api.call(deleteChunk, { ...place, segment_id: step.id }).catch(ifDeleted);
    case "append child":
      return api.call(createChildChunk, {
        ...place,
        segment_id: step.parent,
        content: step.content,
      });
    case "update child": {
      const child = { ...place, segment_id: step.parent, child_chunk_id: step.id };
      return api.call(updateChildChunk, { ...child, content: step.content });
    }
    case "delete child": {
      const child = { ...place, segment_id: step.parent, child_chunk_id: step.id };
      return api.call(deleteChildChunk, child).catch(ifDeleted);
    }
  }
}

const newChunk = ({ content, answer, keywords }: StoredChunk, doc_form: string | null) => ({
  content,
  ...(doc_form === "qa_model" && { answer: answer ?? "" }),
  ...(keywords.length > 0 && { keywords }),
});

/** The fields that a step changes. Without its answer, a question loses it (server §9.8). */
function changeOf(
  { action, to }: Extract<ChunkStep, { readonly id: string; readonly to: StoredChunk }>,
  doc_form: string | null,
) {
  if (action === "disable") return { "segment.enabled": false };
  return {
    ...(doc_form === "qa_model" && { "segment.answer": to.answer ?? "" }),
    ...(action === "update" && { "segment.content": to.content, "segment.enabled": true }),
    ...(action === "keywords" && { "segment.keywords": to.keywords }),
    ...(action === "summarize" && { "segment.summary": to.summary ?? "" }),
  };
}

/** Throws remote-failed for a chunk of a response that was not indexed: its status is `error` then (server §9.7). */
function requireIndexed(steps: readonly ChunkStep[], response: unknown): void {
  const data = valueAt(response, "data") ?? response;
  const failed = (Array.isArray(data) ? data : [data]).find(
    (chunk) => isObject(chunk) && chunk["status"] === "error",
  ) as { readonly error?: unknown } | undefined;
  if (failed) throw notStored(steps, String(failed.error ?? "no reason given"));
}

function count(counts: ChunkCounts, { action }: ChunkStep): void {
  if (action === "update") counts.updated++;
  else if (action === "append") counts.added++;
  else if (action === "delete") counts.deleted++;
  else if (action.endsWith("child")) counts.children++;
}

/** The error for chunks that are not as they were sent. */
function notStored(
  steps: readonly ChunkStep[],
  reason: string | null,
  fields: readonly string[] = [],
): CliError {
  const chunk = steps.flatMap((step) => ("to" in step ? [step.to.position] : []))[0];
  const which = chunk === undefined ? counted(steps.length, "change") : `chunk ${chunk}`;
  const what = fields.join(", ") || "it";
  const why =
    reason === null ? `the server stores ${what} in another way` : `indexing failed: ${reason}`;
  return new CliError("remote-failed", `${which} is not as it was sent: ${why}`, {
    sideEffect: "applied",
    hint: "run the same command again; chunks that are as stored are not sent again",
  });
}

type Update = InputOf<typeof updateChunk>;

/**
 * The requests of an update, in their order; pure. The server ignores keywords beside a content that changes, and
 * all that is beside `enabled: false`; a disabled chunk takes changes only while it is enabled (server §9.7).
 */
function updateRequests(update: Update): readonly Update[] {
  const { dataset_id, document_id, segment_id, ...segment } = update;
  const place = { dataset_id, document_id, segment_id };
  const { "segment.keywords": keywords, "segment.enabled": enabled, ...others } = segment;
  const { "segment.content": content, "segment.answer": answer } = segment;
  const enabling = { "segment.enabled": enabled === false ? true : enabled };
  const isSplit = content !== undefined && keywords !== undefined;
  const first = { ...others, ...(!isSplit && { "segment.keywords": keywords }) };
  const hasFirst = enabled !== false || Object.values(first).some((value) => value !== undefined);
  return [
    ...(hasFirst ? [{ ...place, ...first, ...enabling }] : []),
    // Without its answer, a question loses it (server §9.8).
    ...(isSplit ? [{ ...place, "segment.answer": answer, "segment.keywords": keywords }] : []),
    ...(enabled === false ? [{ ...place, "segment.enabled": false }] : []),
  ];
}

/**
 * Updates a chunk by as many requests as the server needs; returns the last response, and the fields that it stores
 * in another way: none for a chunk in error.
 */
async function sendUpdate(update: Update, { api }: Context) {
  let response: unknown;
  let shown: DryRunShown | undefined;
  for (const request of updateRequests(update)) {
    try {
      response = await api.call(updateChunk, request);
    } catch (error) {
      if (!(error instanceof DryRunShown)) throw error;
      shown = error; // a dry run shows each
    }
    if (valueAt(response, "data.status") === "error") return { response, lost: [] };
  }
  if (shown) throw shown;
  return { response, lost: lostFields(update, valueAt(response, "data")) };
}

/** The same; throws remote-failed with the fields that the server stores in another way. */
export async function updateStored(update: Update, context: Context): Promise<unknown> {
  const { response, lost } = await sendUpdate(update, context);
  if (lost.length === 0) return response;
  const { dataset_id, document_id, segment_id } = update;
  const show = commandLine("kb chunk show", [dataset_id, document_id, segment_id]);
  throw new CliError(
    "remote-failed",
    `the server did not store these fields as sent: ${lost.join(", ")}`,
    {
      sideEffect: "applied",
      hint: `to see the chunk: ${show}`,
    },
  );
}

/** The fields of an update that the stored chunk has not. */
function lostFields(update: Update, chunk: unknown): readonly string[] {
  if (!isObject(chunk)) return [];
  return (["content", "answer", "keywords", "enabled", "summary"] as const).filter((field) => {
    const asked = update[`segment.${field}`];
    const stored = chunk[field];
    if (asked === undefined || asked === stored) return false;
    // What a response leaves out is not known, but servers before 1.12 have no summaries (server §19).
    if (stored === undefined) return field === "summary";
    if (!Array.isArray(asked)) return true;
    return !Array.isArray(stored) || !hasSameWords(unique(asked), unique(stored));
  });
}

const unique = (words: readonly unknown[]): readonly string[] => [...new Set(words.map(String))];
