import { countCharacters } from "../../../lib/text.ts";
import { countTokens } from "../../models/tokens.ts";
import { extractKeywords, embed, tokenize } from "../../models/words.ts";
import { getDataset, WORD_TABLES } from "../records/knowledge-store.ts";
import type {
  DatasetRow,
  KnowledgeContext,
  SegmentRow,
  ChildChunkRow,
  DocumentRow,
} from "../records/knowledge-store.ts";
import { splitChildren } from "../../../splitting/split.ts";
import { invalidParam } from "../../protocol/response.ts";
import {
  catalogOf,
  dimensionsOf,
  findProvider,
  PROVIDER,
  hasCredentials,
} from "../../models/catalog.ts";
import { ModelError } from "../../models/marks.ts";
import { knowledgeError } from "../records/responses.ts";

/** A chunk to store; if `keywords` is null, they are extracted from the content. */
export type NewSegment = Pick<
  SegmentRow,
  "dataset_id" | "document_id" | "position" | "content" | "answer" | "keywords"
> & {
  /** The text whose characters and tokens count. */
  readonly counted: string;
};

/**
 * Stores a chunk and indexes its words; returns its ID. A chunk of a knowledge base with an embedding
 * model has no keywords of its own, and its tokens are counted.
 */
export function addSegment(
  context: KnowledgeContext,
  dataset: DatasetRow,
  { counted, ...segment }: NewSegment,
  time: number,
): string {
  const id = context.newId();
  const embeds = isHighQuality(dataset);
  context.segments.insert({
    ...segment,
    id,
    word_count: countCharacters(counted),
    keywords: segment.keywords ?? (embeds ? null : extractKeywords(segment.content)),
    tokens: embeds ? countTokens(counted) : 0,
    index_node_id: context.newId(),
    status: "completed",
    enabled: true,
    created_at: time,
    updated_at: time,
    indexing_at: time,
    completed_at: time,
  });
  indexSegmentWords(context, id);
  return id;
}

/** Embeds a stored chunk, or its child chunks if it is found by them. Throws ModelError. */
export function embedSegment(
  context: KnowledgeContext,
  dataset: DatasetRow,
  { id, content }: Pick<SegmentRow, "id" | "content">,
): void {
  const { segments, child_chunks } = context;
  if (indexTableOf(dataset).table === "segments")
    return segments.update({ id }, { vector: vectorFor(dataset, content) });
  for (const child of child_chunks.list({ segment_id: id }))
    child_chunks.update({ id: child.id }, { vector: vectorFor(dataset, child.content) });
}

/** Replaces the words of a stored chunk in the index. */
export function indexSegmentWords(context: KnowledgeContext, id: string): void {
  const row = context.segments.find({ id });
  if (!row) return;
  const text = [row.content, row.answer ?? "", ...(row.keywords ?? [])].join("\n");
  indexWords(context, "segments", id, text);
}

/** A child chunk to store; without `vector`, it is embedded later. */
type NewChild = Pick<ChildChunkRow, "segment_id" | "position" | "content" | "type"> &
  Partial<Pick<ChildChunkRow, "vector">>;

/** Stores a child chunk and indexes its words; returns it. */
export function addChild(context: KnowledgeContext, child: NewChild, time: number): ChildChunkRow {
  const row = context.child_chunks.insert({ ...child, created_at: time, updated_at: time });
  indexWords(context, "child_chunks", row.id, child.content);
  return row;
}

/** Stores the child chunks of a chunk in their order. */
export function addChildren(
  context: KnowledgeContext,
  segment_id: string,
  contents: readonly string[],
  time: number,
): void {
  for (const [index, content] of contents.entries())
    addChild(context, { segment_id, position: index + 1, content, type: "automatic" }, time);
}

/** Splits a stored chunk into child chunks again, by the rule of its document. */
export function remakeChildren(
  context: KnowledgeContext,
  { rule_id }: DocumentRow,
  { id, content }: Pick<SegmentRow, "id" | "content">,
): void {
  context.child_chunks.delete({ segment_id: id });
  const rule = context.process_rules.find({ id: rule_id })?.rule;
  if (rule) addChildren(context, id, splitChildren(content, rule, context.version), context.now());
}

/** The embedding model of a request or a knowledge base. */
export interface EmbeddingChoice {
  readonly embedding_model?: string | null | undefined;
  readonly embedding_model_provider?: string | null | undefined;
}

export const isHighQuality = ({ indexing_technique }: Pick<DatasetRow, "indexing_technique">) =>
  indexing_technique === "high_quality";

/**
 * The embedding model that a knowledge base of this technique gets: none, that of the request, or the
 * default one if the request does not name model and provider. The server checks the provider, not the
 * model (server §8). Throws 400.
 */
export function chooseEmbedding(
  { model, models }: Pick<KnowledgeContext, "model" | "models">,
  indexing_technique: string | null | undefined,
  { embedding_model: name, embedding_model_provider: sent }: EmbeddingChoice,
): Partial<Pick<DatasetRow, keyof EmbeddingChoice>> {
  if (indexing_technique !== "high_quality") return {};
  if (!model) throw knowledgeError("no embedding model");
  const embedding_model_provider = name && sent ? findProvider(sent) : PROVIDER;
  if (embedding_model_provider === undefined)
    throw knowledgeError("provider missing", { provider: sent });
  const [first] = catalogOf("text-embedding");
  const embedding_model = name && sent ? name : (first?.model ?? null);
  if (models.withoutCredentials.has(embedding_model_provider))
    throw knowledgeError("provider without credentials", { name: embedding_model });
  return { embedding_model, embedding_model_provider };
}

/** Whether a knowledge base can be used: it has no model, or one that exists and has credentials. */
export const isAvailable = ({ models }: KnowledgeContext, dataset: DatasetRow): boolean =>
  !isHighQuality(dataset) ||
  (dimensionsOf(dataset.embedding_model) !== undefined && hasCredentials(models));

/** Throws an error of the table if the model of a knowledge base lost its credentials (server §8). */
export function requireCredentials(
  { models }: KnowledgeContext,
  dataset: DatasetRow,
  error: Parameters<typeof knowledgeError>[0] = "provider without credentials",
): void {
  if (!isHighQuality(dataset) || hasCredentials(models)) return;
  throw knowledgeError(error, { name: dataset.embedding_model });
}

/** The knowledge base with this ID; throws 400 if its model lost its credentials. */
export function usableDataset(
  context: KnowledgeContext,
  { dataset_id }: { readonly dataset_id: string },
  error?: "provider not initialized",
): DatasetRow {
  const dataset = getDataset(context, dataset_id);
  requireCredentials(context, dataset, error ?? "dataset unavailable");
  return dataset;
}

/** Embeds a text with the model of a knowledge base. Throws ModelError. */
export function embedFor({ embedding_model: name }: EmbeddingChoice, text: string): Float32Array {
  const dimensions = dimensionsOf(name);
  // Recorded: the provider rejects a model that it does not know as a bad request.
  if (dimensions === undefined) throw new ModelError("bad");
  return embed(text, dimensions);
}

/** Runs `work`; a failed model becomes the 400 of knowledge bases, which has the model's text only. */
export function withModelErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ModelError ? invalidParam(error.runText) : error;
  }
}

/** Where the words and vectors of a knowledge base are. */
interface IndexTable {
  readonly table: keyof typeof WORD_TABLES;
  /** SQL for its rows, each with its chunk as `segments`. */
  readonly rows: string;
}

const CHUNKS: IndexTable = { table: "segments", rows: "segments" };
const CHILD_CHUNKS: IndexTable = {
  table: "child_chunks",
  rows: "child_chunks JOIN segments ON segments.id = child_chunks.segment_id",
};

/** A chunk with child chunks is found by them, not by its own text (server §9.8). */
export const indexTableOf = (dataset: DatasetRow): IndexTable =>
  isHighQuality(dataset) && dataset.doc_form === "hierarchical_model" ? CHILD_CHUNKS : CHUNKS;

/** Replaces the words of a stored chunk or child chunk in its index. */
export function indexWords(
  { store }: KnowledgeContext,
  table: IndexTable["table"],
  id: string,
  text: string,
): void {
  const rowid = `SELECT rowid FROM ${table} WHERE id = ?1`;
  store.run(`DELETE FROM ${WORD_TABLES[table]} WHERE rowid = (${rowid})`, id);
  const sql = `INSERT INTO ${WORD_TABLES[table]} (rowid, words) VALUES ((${rowid}), ?2)`;
  store.run(sql, id, tokenize(text).join(" "));
}

/** The vector of a content as the database stores it; null in economy. Throws ModelError. */
export function vectorFor(dataset: DatasetRow, content: string): Uint8Array | null {
  if (!isHighQuality(dataset)) return null;
  const { buffer, byteOffset, byteLength } = embedFor(dataset, content);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A vector that the database returned, in the same memory. */
export const vectorOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array =>
  new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT);

/** Forgets the vectors of a knowledge base. */
export function dropVectors({ store }: KnowledgeContext, dataset: DatasetRow): void {
  const { table, rows } = indexTableOf(dataset);
  const ids = `SELECT ${table}.id FROM ${rows} WHERE segments.dataset_id = ?`;
  store.run(`UPDATE ${table} SET vector = NULL WHERE id IN (${ids})`, dataset.id);
}

/** The length of the vectors that a knowledge base holds; undefined if it holds none. */
export function storedDimensions(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
): number | undefined {
  const { table, rows } = indexTableOf(dataset);
  const sql = `SELECT length(${table}.vector) / 4 AS length FROM ${rows}
    WHERE segments.dataset_id = ? AND ${table}.vector IS NOT NULL LIMIT 1`;
  return store.get<{ readonly length: number }>(sql, dataset.id)?.length;
}

/** Throws 400 if the model gives other vectors than those of the knowledge base (server §8). */
export function checkDimensions(context: KnowledgeContext, dataset: DatasetRow): void {
  const stored = storedDimensions(context, dataset);
  const ours = dimensionsOf(dataset.embedding_model);
  if (stored === undefined || ours === undefined || stored === ours) return;
  throw knowledgeError("dimensions differ", { stored, ours });
}
