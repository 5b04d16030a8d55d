import { own } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import { objectSchema, orNull, readingTool, structuredResult } from "../../shared/mcp/index.ts";
import type { ClientRequest, OfferedTool } from "../../shared/mcp/index.ts";
import { readChunk } from "./documents.ts";
import type { Documents } from "./documents.ts";
import { kbArgument } from "./limits.ts";
import { uriOf } from "./uris.ts";

const DEFAULT_CHUNKS = 20;

const chunkSchema = {
  type: "object",
  properties: {
    id: { type: "string" },
    position: orNull({ type: "number" }),
    text: { type: "string" },
  },
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
        document: { type: "string", minLength: 1, description: "Document name or ID" },
        chunk: { type: "string", minLength: 8, description: "Only this chunk, by its ID" },
        page: { type: "integer", minimum: 1, description: "Page of chunks (default 1)" },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 100,
          description: `Chunks per page (default ${DEFAULT_CHUNKS})`,
        },
      },
      [...base.required, "document"],
    ),
    outputSchema: objectSchema(
      {
        kb: { type: "string" },
        document: { type: "string" },
        document_id: { type: "string" },
        uri: { type: "string", description: "Resource of the document" },
        chunks: { type: "array", items: chunkSchema },
        total: { type: "integer", description: "Number of all chunks" },
        next_page: { type: "integer", description: "The next page, if there is one" },
      },
      ["kb", "document", "document_id", "uri", "chunks"],
    ),
    annotations: readingTool,
    async call(values, request) {
      const read = await readText(documents, base.of(values), values, request);
      return structuredResult({ ...read }, { text: shown(read) });
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
  const more = total === undefined ? rows.length >= limit : page * limit < total;
  return {
    ...place,
    chunks: rows.map(readChunk),
    total,
    next_page: more ? page + 1 : undefined,
  };
}

const shown = ({ uri, chunks, total, next_page }: Awaited<ReturnType<typeof readText>>): string =>
  [
    `${uri}${total === undefined ? "" : `  ${total} chunks`}`,
    ...chunks.map(({ text }) => text),
    ...(next_page === undefined ? [] : [`(continues on page ${next_page})`]),
  ].join("\n\n");
