import { CliError, DryRunShown } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { updateChunk } from "../../../operations/chunks.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { hasSameWords } from "./compare-chunks.ts";

type Update = InputOf<typeof updateChunk>;

/**
 * The requests of an update, in their order; pure. The server ignores keywords beside a content that changes, and
 * all that is beside `enabled: false`; a disabled chunk takes changes only while it is enabled (server §9.7).
 */
export function updateRequests(update: Update): readonly Update[] {
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
export async function sendUpdate(update: Update, { api }: Context) {
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
