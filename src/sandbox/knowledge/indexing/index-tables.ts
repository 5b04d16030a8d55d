import { DIMENSIONS } from "../../models/catalog.ts";
import { tokenize } from "../../models/words.ts";
import { type DatasetRow, type KnowledgeContext, WORD_TABLES } from "../records/knowledge-store.ts";
import { knowledgeError } from "../records/responses.ts";
import { embedFor, isHighQuality } from "./embedding.ts";

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
