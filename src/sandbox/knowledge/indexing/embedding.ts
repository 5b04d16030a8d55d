import { invalidParam } from "../../protocol/errors.ts";
import {
  catalogOf,
  DIMENSIONS,
  findProvider,
  PROVIDER,
  hasCredentials,
} from "../../models/catalog.ts";
import { embed } from "../../models/embedding.ts";
import { ModelError } from "../../models/model-error.ts";
import { type DatasetRow, type KnowledgeContext, WORD_TABLES } from "../records/knowledge-store.ts";
import { knowledgeError } from "../records/responses.ts";
import { tokenize } from "../../models/words.ts";

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
  (Object.hasOwn(DIMENSIONS, dataset.embedding_model ?? "") && hasCredentials(models));

/** Throws an error of the table if the model of a knowledge base lost its credentials (server §8). */
export function requireCredentials(
  { models }: KnowledgeContext,
  dataset: DatasetRow,
  error: Parameters<typeof knowledgeError>[0] = "provider without credentials",
): void {
  if (!isHighQuality(dataset) || hasCredentials(models)) return;
  throw knowledgeError(error, { name: dataset.embedding_model });
}

/** Embeds a text with the model of a knowledge base. Throws ModelError. */
export function embedFor({ embedding_model: name }: EmbeddingChoice, text: string): Float32Array {
  const dimensions = DIMENSIONS[name ?? ""];
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
  const ours = DIMENSIONS[dataset.embedding_model ?? ""];
  if (stored === undefined || ours === undefined || stored === ours) return;
  throw knowledgeError("dimensions differ", { stored, ours });
}
