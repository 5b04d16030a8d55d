import { problemIn } from "../../../api/response.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { countCharacters } from "../../../lib/text.ts";
import type { Checked, RequiredFields } from "../../../operations/operation.ts";
import { collect } from "../../../lib/collect.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import { usage } from "../../../errors.ts";
import { hasRegular, pathInside } from "../../../host/safe-path.ts";
import { listChildChunks, listChunks } from "../../../operations/chunks.ts";
import type { Context } from "../../task/command-spec.ts";

/** A child chunk as it is stored. */
export interface StoredChild {
  readonly content: string;
  /** `automatic` or `customized`; null if it is not known. */
  readonly type: string | null;
}

/** A chunk as it is stored: the parts that another document can get, and those that it cannot. */
export interface StoredChunk {
  /** Counts from 1; a removed chunk leaves a gap. */
  readonly position: number;
  readonly content: string;
  /** Only in question-and-answer documents. */
  readonly answer: string | null;
  /** In no order. */
  readonly keywords: readonly string[];
  readonly enabled: boolean;
  /** Status of its indexing: `completed`, `error` …; null if it is not known. */
  readonly status: string | null;
  readonly summary: string | null;
  /** Only in hierarchical documents, in their order. */
  readonly children: readonly StoredChild[];
  /** Number of files that are attached. */
  readonly attachments: number;
}

/** The line of a chunk in a file of an export, with its hash: equal chunks have equal hashes. */
export const chunkLine = (chunk: StoredChunk): string => {
  const { position, content, answer, keywords, enabled, status, summary, attachments } = chunk;
  const children = chunk.children.map((child) => ({ content: child.content, type: child.type }));
  const ordered = { position, content, answer, keywords, enabled, status, summary };
  return `${stringifyJson({ ...ordered, children, attachments, hash: chunkHash(chunk) })}\n`;
};

/** SHA-256 of all that another document can get of a chunk. */
export function chunkHash(chunk: StoredChunk): string {
  const { content, answer, enabled, summary } = chunk;
  const keywords = chunk.keywords.toSorted();
  const children = chunk.children.map((child) => child.content);
  return sha256(JSON.stringify([content, answer, keywords, enabled, summary, children]));
}

/** What a line must have; exports before version 2 have no status, and child chunks as texts. */
const lineFields = {
  position: "number",
  content: "text",
  "answer?": "text",
  "keywords?": ["text"],
  enabled: "flag",
  "status?": "text",
  "summary?": "text",
  children: [{ content: "text", "type?": "text" }],
  "attachments?": "number",
} as const satisfies RequiredFields;

/** The chunk of a line; a text says why the line has none. */
export function parseChunkLine(line: string): StoredChunk | string {
  const value = tryParseJson(line);
  if (!isObject(value)) return "not a JSON object";
  const { children } = value;
  const asObject = (child: unknown) => (typeof child === "string" ? { content: child } : child);
  const given = Array.isArray(children)
    ? { ...value, children: children.map(asObject) }
    : { ...value };
  const problem = problemIn(lineFields, given, "");
  if (problem !== undefined) return problem;
  const row = given as unknown as Checked<typeof lineFields>;
  const { position, content, enabled, attachments } = row;
  return {
    position,
    content,
    answer: row.answer ?? null,
    keywords: row.keywords ?? [],
    enabled,
    status: row.status ?? null,
    summary: row.summary ?? null,
    children: row.children.map((child) => ({ content: child.content, type: child.type ?? null })),
    attachments: attachments ?? 0,
  };
}

/** Can another document get it? A chunk without content is rejected, one in error not stored (server §9.7). */
export const isCarried = ({ content, status }: Pick<StoredChunk, "content" | "status">): boolean =>
  content.trim() !== "" && status !== "error";

/** Characters of a chunk that a model embeds, those of its child chunks in a hierarchical document. */
export const embeddedCharacters = ({
  content,
  answer,
  children,
}: Pick<StoredChunk, "content" | "answer" | "children">): number =>
  children.length > 0
    ? children.reduce((sum, child) => sum + countCharacters(child.content), 0)
    : countCharacters(content + (answer ?? ""));

/** A document and the form of its chunks. */
export interface ChunkPlace {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly doc_form: string | null;
}

/** A chunk of a document, with the IDs that change it. */
export interface ExistingChunk extends StoredChunk {
  readonly id: string;
  readonly error: string | null;
  /** Was it or one of its child chunks edited? Added ones look like any other. */
  readonly isEdited: boolean;
  readonly children: readonly (StoredChild & { readonly id: string })[];
}

/**
 * The chunks of a document in their order, with all child chunks. Lists show none of those of a document
 * with the parent mode `full-doc` (server §9.8), so they cost a request for each chunk.
 */
export async function* readChunks(
  { dataset_id, document_id, doc_form }: ChunkPlace,
  context: Context,
): AsyncGenerator<ExistingChunk> {
  const isHierarchical = doc_form === "hierarchical_model";
  for await (const chunk of context.api.rows(listChunks, { dataset_id, document_id })) {
    const { id, position, content, enabled } = chunk;
    const place = { dataset_id, document_id, segment_id: id };
    const isHidden = isHierarchical && chunk.child_chunks.length === 0;
    const children = isHidden
      ? await collect(context.api.rows(listChildChunks, place))
      : chunk.child_chunks;
    yield {
      id,
      position,
      content,
      answer: chunk.answer ?? null,
      keywords: chunk.keywords ?? [],
      enabled,
      status: chunk.status ?? null,
      error: chunk.error ?? null,
      isEdited:
        typeof chunk.updated_by === "string" || children.some(({ type }) => type === "customized"),
      summary: chunk.summary ?? null,
      children: (isHierarchical ? children : [])
        .toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0))
        .map((child) => ({ id: child.id, content: child.content, type: child.type ?? null })),
      attachments: chunk.attachments?.length ?? 0,
    };
  }
}

/**
 * The stored chunks of a document; undefined if the directory has none of them. Throws usage with the line of a
 * mistake.
 */
export async function readChunksOf(
  directory: string,
  { chunks }: { readonly chunks?: { readonly file: string } | undefined },
  context: Context,
): Promise<StoredChunk[] | undefined> {
  if (!chunks) return undefined;
  const { files } = context.host;
  const path = await pathInside(directory, chunks.file, files);
  if (!(await hasRegular(path, files)))
    throw usage(`${path} is missing`, "get it from a copy of the directory, or export again");
  const read: StoredChunk[] = [];
  const invalid = (number: number, problem: string) =>
    usage(`${path} line ${number}: ${problem}`, "export again: kb export <kb> <dir>");
  const tooLong = (number: number) => invalid(number, "longer than 64 MiB");
  for await (const { lines } of linesOf(files.bytes(path), tooLong, context)) {
    for (const { number, text } of lines) {
      const chunk = parseChunkLine(text);
      if (typeof chunk === "string") throw invalid(number, chunk);
      read.push(chunk);
    }
  }
  return read;
}
