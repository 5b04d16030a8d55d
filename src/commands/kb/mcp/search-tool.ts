import { valueAt } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import { searchMethods } from "../../../operations/shared.ts";
import { objectSchema, orNull, readingTool, structuredResult } from "../../shared/mcp/index.ts";
import type { OfferedTool } from "../../shared/mcp/index.ts";
import { readChunk } from "./documents.ts";
import type { Documents } from "./documents.ts";
import { kbArgument } from "./limits.ts";
import { uriOf } from "./uris.ts";

/** Characters of a result: it is a preview, `read` has the whole text. */
const MAX_PREVIEW = 400;
const DEFAULT_RESULTS = 5;

const nullable = (type: string) => orNull({ type });

const resultSchema = {
  type: "object",
  properties: {
    document: nullable("string"),
    document_id: nullable("string"),
    chunk_id: { type: "string" },
    position: nullable("number"),
    score: nullable("number"),
    text: { type: "string", description: "Beginning of the chunk" },
    truncated: { type: "boolean" },
    uri: { ...nullable("string"), description: "Resource of the document" },
  },
  required: ["chunk_id", "text", "truncated"],
};

/** The tool that searches a knowledge base. */
export function searchTool(documents: Documents): OfferedTool {
  const base = kbArgument(documents.allowed);
  return {
    name: "search",
    title: "Search a knowledge base",
    description:
      "Find chunks of documents that fit a query. Returns short previews with IDs, scores (0 in keyword " +
      "search) and URIs to cite; `read` returns the whole chunk or document.",
    inputSchema: objectSchema(
      {
        ...base.properties,
        query: { type: "string", minLength: 1, maxLength: 250, description: "Search query" },
        top_k: {
          type: "integer",
          minimum: 1,
          maximum: 100,
          description: `Maximum number of results (default ${DEFAULT_RESULTS})`,
        },
        search_method: {
          type: "string",
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
      const given = { top_k: DEFAULT_RESULTS, ...values, kb };
      const { rows, notices } = await documents.list("search", given, request);
      const results = rows.map((record) => foundOf(record, kb));
      return structuredResult({ results }, { text: shown(results), notices });
    },
  };
}

/** One result of a search; its text is the beginning. */
function foundOf(record: unknown, kb: string) {
  const { id, position, text } = readChunk(valueAt(record, "segment"));
  const document = textOrNull(valueAt(record, "segment.document.name"));
  const score = valueAt(record, "score");
  const characters = [...text];
  return {
    document,
    document_id: textOrNull(valueAt(record, "segment.document.id")),
    chunk_id: id,
    position,
    score: typeof score === "number" ? score : null,
    text: characters.slice(0, MAX_PREVIEW).join(""),
    truncated: characters.length > MAX_PREVIEW,
    uri: document === null ? null : uriOf({ kb, document }),
  };
}

const textOrNull = (value: unknown): string | null =>
  value === null ? null : asText(value) || null;

const shown = (results: readonly ReturnType<typeof foundOf>[]): string =>
  results.length === 0
    ? "no results"
    : results
        .map(
          ({ document, chunk_id, score, uri, text, truncated }, index) =>
            `${index + 1}. ${document ?? "?"}  chunk ${chunk_id}  score ${score ?? "?"}  ${uri ?? ""}\n${text}${truncated ? "…" : ""}`,
        )
        .join("\n\n");
