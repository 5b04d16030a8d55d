import { own, valueAt } from "../../lib/json.ts";
import { asText } from "../../operations/operation.ts";
import { hasMore } from "./command-tools.ts";
import { objectSchema, orNull, readingTool } from "./schema.ts";
import { structuredResult } from "./results.ts";
import type { ClientRequest, OfferedTool } from "./schema.ts";
import { kbArgument, numberAt, readChunk, uriOf } from "./kb-documents.ts";
import type { Documents } from "./kb-documents.ts";
import { searchMethods } from "../../operations/shared.ts";

const DEFAULT_CHUNKS = 20;

const string = { type: "string" };
const nullable = (type: string) => orNull({ type });
const textOf = (description: string, minLength = 1) => ({ ...string, minLength, description });
const integer = (description: string, maximum?: number) => ({
  type: "integer",
  minimum: 1,
  ...(maximum !== undefined && { maximum }),
  description,
});

const chunkSchema = {
  type: "object",
  properties: { id: string, position: nullable("number"), text: string },
  required: ["id", "text"],
};

/** The tool that reads a document, chunk by chunk, or one chunk. */
export function readTool(documents: Documents): OfferedTool {
  const base = kbArgument(documents.allowed);
  return {
    name: "read",
    title: "Read a document or a chunk",
    description:
      "Return the text of a document in order, in pages of chunks, or of one chunk that `search` found.",
    inputSchema: objectSchema(
      {
        ...base.properties,
        document: textOf("Document name or ID"),
        chunk: textOf("Only this chunk, by its ID", 8),
        page: integer("Page of chunks (default 1)"),
        limit: integer(`Chunks per page (default ${DEFAULT_CHUNKS})`, 100),
      },
      [...base.required, "document"],
    ),
    outputSchema: objectSchema(
      {
        kb: string,
        document: string,
        document_id: string,
        uri: { ...string, description: "Resource of the document" },
        chunks: { type: "array", items: chunkSchema },
        total: { type: "integer", description: "Number of all chunks" },
        next_page: { type: "integer", description: "The next page, if there is one" },
      },
      ["kb", "document", "document_id", "uri", "chunks"],
    ),
    annotations: readingTool,
    async call(values, request) {
      const read = await readText(documents, base.of(values), values, request);
      return structuredResult({ ...read }, { text: shownText(read) });
    },
  };
}

async function readText(
  documents: Documents,
  kb: string,
  values: Readonly<Record<string, unknown>>,
  request: ClientRequest,
) {
  const doc = String(values["document"]);
  const found = await documents.show("doc show", { kb, doc, metadata: "without" }, request);
  const document_id = asText(found["id"]) || doc;
  const document = asText(found["name"]) || doc;
  const place = { kb, document, document_id, uri: uriOf({ kb, document }) };
  // The whole ID needs no further look-up.
  const given = { kb, doc: document_id };
  const chunk = own(values, "chunk");
  if (chunk !== undefined) {
    const { data } = await documents.show("chunk show", { ...given, chunk }, request);
    return { ...place, chunks: [readChunk(data)], total: undefined, next_page: undefined };
  }
  const page = Number(own(values, "page") ?? 1);
  const limit = Number(own(values, "limit") ?? DEFAULT_CHUNKS);
  const { rows, total } = await documents.list("chunk list", given, request, { page, limit });
  const more = hasMore(rows, total, { page, limit });
  const next_page = more ? page + 1 : undefined;
  return { ...place, chunks: rows.map(readChunk), total, next_page };
}

const shownText = ({
  uri,
  chunks,
  total,
  next_page,
}: Awaited<ReturnType<typeof readText>>): string =>
  [
    `${uri}${total === undefined ? "" : `  ${total} chunks`}`,
    ...chunks.map(({ text }) => text),
    ...(next_page === undefined ? [] : [`(continues on page ${next_page})`]),
  ].join("\n\n");

/** Characters of a result: it is a preview, `read` has the whole text. */
const MAX_PREVIEW = 400;
const DEFAULT_RESULTS = 5;

const resultSchema = {
  type: "object",
  properties: {
    kb: string,
    document: nullable("string"),
    document_id: nullable("string"),
    chunk_id: string,
    position: nullable("number"),
    score: nullable("number"),
    text: { type: "string", description: "Beginning of the chunk" },
    truncated: { type: "boolean" },
    uri: { ...nullable("string"), description: "Resource of the document" },
  },
  required: ["kb", "chunk_id", "text", "truncated"],
};

/** The tool that searches a knowledge base, or all that the server offers. */
export function searchTool(documents: Documents): OfferedTool {
  const base = kbArgument(documents.allowed, "all of them");
  const all = { all: true, only: documents.allowed?.map(({ id }) => `id:${id}`) };
  return {
    name: "search",
    title: "Search knowledge bases",
    description:
      "Find chunks of documents that fit a query. Returns short previews with IDs, scores (0 in keyword " +
      "search) and URIs to cite; `read` returns the whole chunk or document.",
    inputSchema: objectSchema(
      {
        ...base.properties,
        query: { ...textOf("Search query"), maxLength: 250 },
        top_k: integer(`Maximum number of results (default ${DEFAULT_RESULTS})`, 100),
        search_method: {
          ...string,
          enum: searchMethods,
          description: "Search method (default: that of the knowledge base)",
        },
        score_threshold: { type: "number", minimum: 0, maximum: 1, description: "Minimum score" },
      },
      [...base.required, "query"],
    ),
    outputSchema: objectSchema({ results: { type: "array", items: resultSchema } }, ["results"]),
    annotations: readingTool,
    async call(values, request) {
      const kb = base.of(values);
      const given = { top_k: DEFAULT_RESULTS, ...values, ...(kb === "" ? all : { kb }) };
      const { rows, notices } = await documents.list("search", given, request);
      const results = rows.map((record) => foundOf(record, kb));
      return structuredResult({ results }, { text: shownResults(results), notices });
    },
  };
}

/** One result of a search, in a given knowledge base or in one of all; its text is the beginning. */
function foundOf(record: unknown, given: string) {
  const kb = textOrNull(valueAt(record, "kb")) ?? given;
  const { id, position, text } = readChunk(valueAt(record, "segment"));
  const document = textOrNull(valueAt(record, "segment.document.name"));
  const characters = [...text];
  return {
    kb,
    document,
    document_id: textOrNull(valueAt(record, "segment.document.id")),
    chunk_id: id,
    position,
    score: numberAt(record, "score"),
    text: characters.slice(0, MAX_PREVIEW).join(""),
    truncated: characters.length > MAX_PREVIEW,
    uri: document === null ? null : uriOf({ kb, document }),
  };
}

const textOrNull = (value: unknown): string | null =>
  value === null ? null : asText(value) || null;

function shownResults(results: readonly ReturnType<typeof foundOf>[]): string {
  const texts = results.map(({ document, chunk_id, score, uri, text, truncated }, index) => {
    const head = `${index + 1}. ${document ?? "?"}  chunk ${chunk_id}  score ${score ?? "?"}  ${uri ?? ""}`;
    return `${head}\n${text}${truncated ? "…" : ""}`;
  });
  return texts.length === 0 ? "no results" : texts.join("\n\n");
}
