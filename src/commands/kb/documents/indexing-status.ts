import { requireField } from "../../../api/response.ts";
import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError, verdict } from "../../../errors.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import { collect } from "../../../lib/collect.ts";
import { listDocuments, getDocument, getIndexingStatus } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Checked, Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { counted } from "../../../lib/text.ts";
import type { waitParams } from "./command.ts";

/** ms without progress until a notice, and until the wait ends: a dead worker never makes any. */
const stallNotice = 300_000;
const stallTimeout = 1_800_000;

/** Indexing status of one document. */
export interface DocumentStatus {
  readonly id: string;
  readonly name: string;
  readonly indexing_status: string;
  /** Why the document is not indexed, or why no search finds it. */
  readonly error: string | null;
  /** Indexed and total chunks, if the server reports them. */
  readonly chunks?: readonly [done: number, total: number] | undefined;
}

/** Is indexing complete, and can a search find the document? */
export const isIndexed = ({ indexing_status, error }: DocumentStatus): boolean =>
  indexing_status === "completed" && error === null;

/** The server reports such a document as completed (server §9.8). */
const noChunks = "indexing completed without any chunks, so no search finds it";

/** The status from a list or a detail. A `completed` document with content but without chunks is an error here. */
export function indexingStatusOf(document: DocumentResponse): DocumentStatus {
  const { id } = document;
  const name = requireField(document.name, "name");
  const indexing_status = requireField(document.indexing_status, "indexing_status");
  if (indexing_status !== "completed")
    return { id, name, indexing_status, error: document.error ?? null };
  const amount = document.segment_count ?? document.word_count;
  const file =
    document.data_source_detail_dict?.upload_file ?? document.data_source_info?.upload_file;
  const isMissingChunks = amount === 0 && (file?.size ?? 0) > 0;
  return { id, name, indexing_status, error: isMissingChunks ? noChunks : null };
}

/** Fields that lists and details share, and the field of each that has the size of the content. */
type DocumentResponse = Checked<{
  id: "id";
  "name?": "text";
  "indexing_status?": "id";
  "error?": "text";
  "segment_count?": "number";
  "word_count?": "number";
  "data_source_detail_dict?": { "upload_file?": { "size?": "number" } };
  "data_source_info?": { "upload_file?": { "size?": "number" }; "upload_file_id?": "text" };
}>;

/** Has indexing ended, with whatever result? */
export const isDone = ({ indexing_status }: Pick<DocumentStatus, "indexing_status">): boolean =>
  indexing_status === "completed" || indexing_status === "error" || indexing_status === "paused";

/** The statuses of the documents of a knowledge base that `matches` selects. */
export async function documentStatuses(
  dataset_id: string,
  matches: (document: Document) => boolean,
  context: Context,
): Promise<DocumentStatus[]> {
  const documents = await collect(context.api.rows(listDocuments, { dataset_id }));
  return documents.filter(matches).map(indexingStatusOf);
}

/**
 * Polls until all documents are indexed or have failed, except for `left` of them, and yields each one when
 * it ends, and at last those that are left. Prints a notice after 5 minutes without progress; throws deadline
 * after 30.
 */
export async function* waitForIndexing(
  poll: () => Promise<readonly DocumentStatus[]>,
  context: Context,
  left = 0,
): AsyncGenerator<DocumentStatus> {
  const { host } = context;
  const ended = new Set<string>();
  let failed = 0;
  let lastProgress = "";
  let lastProgressAt = host.elapsed();
  let isNoticed = false;
  for (let attempt = 0; ; attempt++) {
    const statuses = await poll();
    const now = host.elapsed();
    for (const status of statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!isDone(status) || ended.has(status.id)) continue;
      ended.add(status.id);
      if (!isIndexed(status)) failed++;
      yield status;
    }
    const pending = statuses.filter((status) => !isDone(status));
    if (pending.length <= left) return yield* pending;
    const progress = JSON.stringify(pending.map((each) => [each.indexing_status, each.chunks]));
    if (progress !== lastProgress)
      [lastProgress, lastProgressAt, isNoticed] = [progress, now, false];
    const note = chunkCounts(pending);
    const [done, total] = [ended.size, statuses.length];
    const current =
      pending.length > MAX_NAMED ? undefined : pending.map(({ name }) => name).join(", ");
    context.progress({ verb: "Indexing", done, total, unit: "documents", failed, note, current });
    const stalled = now - lastProgressAt;
    if (stalled >= stallNotice && !isNoticed) {
      isNoticed = true;
      await context.notice(stallMessage(5, pending));
    }
    if (stalled >= stallTimeout) throw stallError(pending);
    await context.pause(backoff(attempt, delays.indexing));
  }
}

/** Documents that are left of which progress has the names. */
const MAX_NAMED = 3;

function chunkCounts(pending: readonly DocumentStatus[]): string | undefined {
  const known = pending.flatMap(({ chunks }) => (chunks && chunks[1] > 0 ? [chunks] : []));
  if (known.length === 0) return undefined;
  const sum = (at: 0 | 1) => known.reduce((total, chunks) => total + chunks[at], 0);
  return `${sum(0)} of ${sum(1)} chunks`;
}

const stallMessage = (minutes: number, pending: readonly DocumentStatus[]): string =>
  `no indexing progress for ${minutes} minutes (${pending.length} documents pending, e.g. ${pending[0]?.name}: ${pending[0]?.indexing_status})`;

const stallError = (pending: readonly DocumentStatus[]): CliError =>
  verdict(
    "deadline",
    stallMessage(30, pending),
    { open: pending.map(({ id, name }) => ({ id, name })) },
    "the server's indexing worker may be down; to restart a document, add it again under the same name",
  );

/**
 * Waits until documents are indexed: the given ones, those of a batch, or all of the knowledge base.
 * Yields the final status of each. Throws remote-failed with the server's error if one failed.
 */
export async function* run(
  input: Input<typeof waitParams>,
  context: Context,
): AsyncGenerator<DocumentStatus> {
  const failed: DocumentStatus[] = [];
  let count = 0;
  for await (const status of waitForIndexing(() => statusesOf(input, context), context)) {
    count++;
    if (!isIndexed(status)) failed.push(status);
    yield status;
  }
  const [first] = failed;
  if (first === undefined) return context.summary(`indexed ${counted(count, "document")}`);
  const why = first.error ?? `status is ${first.indexing_status}`;
  throw verdict(
    "remote-failed",
    `failed to index ${failed.length} of ${count} documents: ${first.name}: ${why}`,
    { failed },
    "to replace a failed document, add it again under the same name",
  );
}

async function statusesOf(input: Input<typeof waitParams>, context: Context) {
  const { dataset_id, document_id, batch } = input;
  if (batch !== undefined) return batchStatuses(dataset_id, batch, context);
  if (document_id === undefined) return documentStatuses(dataset_id, () => true, context);
  return mapAll(document_id, 1, async (id) =>
    indexingStatusOf(await context.api.call(getDocument, { dataset_id, document_id: id })),
  );
}

async function batchStatuses(dataset_id: string, batch: string, { api }: Context) {
  const all = await api.call(getIndexingStatus, { dataset_id, batch });
  return mapAll(all, 1, async (each): Promise<DocumentStatus> => {
    const { id, indexing_status, error, completed_segments, total_segments } = each;
    const chunks = [completed_segments, total_segments] as const;
    if (indexing_status !== "completed" || total_segments !== 0)
      return { id, name: id, indexing_status, error: error ?? null, chunks };
    const document = await api.call(getDocument, { dataset_id, document_id: id });
    return { ...indexingStatusOf(document), chunks };
  });
}
