import { ApiError, CliError, ignoring } from "../../../errors.ts";
import { backoff, delays, poll } from "../../../lib/backoff.ts";
import { collect } from "../../../lib/collect.ts";
import { isObject, valueAt, stringifyJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted } from "../../../lib/text.ts";
import {
  createChildChunk,
  createChunks,
  deleteChildChunk,
  deleteChunk,
  updateChildChunk,
} from "../../../operations/chunks.ts";
import { getDocument } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";
import { firstPhase, planChunks } from "./compare-chunks.ts";
import type { ChunkRules, ChunkStep } from "./compare-chunks.ts";
import { readChunks } from "./stored-chunk.ts";
import type { ChunkPlace, ExistingChunk } from "./stored-chunk.ts";
import type { StoredChunk } from "./stored-chunk.ts";
import { sendUpdate } from "./update-chunk.ts";

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
 * seen there, and nothing is sent twice. Throws remote-failed for chunks that the server stores otherwise.
 */
export async function changeChunks(
  target: ChunkTarget,
  planSteps: (existing: readonly ExistingChunk[]) => readonly ChunkStep[],
  context: Context,
): Promise<ChunkCounts> {
  const counts: ChunkCounts = { updated: 0, added: 0, deleted: 0, children: 0 };
  if (target.summaries) await untilSummarized(target, context);
  let last = "";
  let lost = 0;
  for (;;) {
    const existing = await collect(readChunks(target, context));
    const steps = firstPhase(planSteps(existing));
    if (steps.length === 0) return counts;
    const plan = sha256(stringifyJson(steps));
    if (plan !== last) lost = 0;
    else if (lost === 0) throw notStored(steps, existing.find(({ error }) => error)?.error ?? null);
    last = plan;
    try {
      for (const together of requestsOf(steps)) {
        const problem = failureIn(await request(together, target, context));
        if (problem !== undefined) throw notStored(together, problem);
        for (const step of together) count(counts, step);
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

/** The steps of each request: chunks are appended several at a time. */
function* requestsOf(steps: readonly ChunkStep[]): Generator<readonly ChunkStep[]> {
  const appended = steps.filter(({ action }) => action === "append");
  const others = steps.filter(({ action }) => action !== "append");
  for (const step of others) yield [step];
  for (let at = 0; at < appended.length; at += APPENDED_TOGETHER)
    yield appended.slice(at, at + APPENDED_TOGETHER);
}

const ifDeleted = ignoring("not-found"); // already

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

/** Why a chunk of a response could not be indexed: its status is `error` then (server §9.7). */
function failureIn(response: unknown): string | undefined {
  const data = valueAt(response, "data") ?? response;
  const failed = (Array.isArray(data) ? data : [data]).find(
    (chunk) => isObject(chunk) && chunk["status"] === "error",
  ) as { readonly error?: unknown } | undefined;
  return failed && String(failed.error ?? "no reason given");
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
