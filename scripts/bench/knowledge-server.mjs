// A server with one knowledge base, which stores what it receives; counts requests.
// `node knowledge-server.mjs serve` is the server process.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { isServer, serving } from "./tools.mjs";

export const base = "11111111-1111-4111-8111-111111111111";
const idOf = (index) => `22222222-2222-4222-8222-${String(index).padStart(12, "0")}`;

if (isServer(import.meta.url)) serve();

/** Starts the server; returns its address, a way to stop it, and what it has counted since the last time. */
export async function servingDocuments() {
  const server = await serving(fileURLToPath(import.meta.url));
  return { ...server, counted: async () => (await fetch(`${server.origin}/counts`)).json() };
}

/** Returns a document as lists show it. */
export function shown(document) {
  return {
    id: document.id,
    position: document.index,
    data_source_type: "upload_file",
    data_source_info: { upload_file_id: document.id },
    data_source_detail_dict: {
      upload_file: { id: document.id, name: document.name, extension: "txt", size: 1 },
    },
    dataset_process_rule_id: "rule",
    name: document.name,
    created_from: "api",
    created_at: 1_790_000_000 + document.index,
    indexing_status: "completed",
    error: null,
    enabled: true,
    archived: false,
    display_status: "available",
    word_count: 10,
    doc_form: "text_model",
    doc_metadata: document.metadata,
  };
}

/** Returns the only chunk of a document. */
const chunkOf = ({ id, text }) => ({
  id: id.replace("2222", "3333"),
  document_id: id,
  position: 1,
  content: text,
  answer: null,
  keywords: [],
  enabled: true,
  status: "completed",
  child_chunks: [],
});

export const knowledgeBase = {
  id: base,
  name: "Bench",
  description: "",
  permission: "only_me",
  indexing_technique: "economy",
  doc_form: "text_model",
  tags: [],
  retrieval_model_dict: { search_method: "keyword_search", top_k: 2 },
};

/** Implements the routes of one knowledge base; the returned function counts requests. */
function routesOf(documents, counts) {
  const fields = [];
  return (method, path, query, body) => {
    if (path === `/v1/datasets/${base}`) {
      counts.other++;
      return knowledgeBase;
    }
    if (path.endsWith("/documents/metadata")) {
      counts.writes++;
      for (const { document_id, metadata_list } of body.operation_data)
        documents.get(document_id).metadata = metadata_list.map((each) => ({
          ...each,
          type: "string",
        }));
      return { result: "success" };
    }
    if (path.endsWith("/metadata")) {
      if (method === "GET") return { doc_metadata: fields, built_in_field_enabled: false };
      counts.writes++;
      const field = { id: idOf(fields.length), ...body, count: 0 };
      fields.push(field);
      return field;
    }
    if (path.endsWith("/create-by-text")) {
      counts.writes++;
      const index = documents.size;
      const document = { id: idOf(index), index, name: body.name, text: body.text, metadata: [] };
      documents.set(document.id, document);
      return { document: shown(document), batch: "1" };
    }
    if (path.endsWith("/documents")) {
      counts.lists++;
      const [page, limit] = [Number(query.get("page")), Number(query.get("limit"))];
      const newest = documents.size - (page - 1) * limit;
      const data = [];
      for (let index = newest - 1; index >= Math.max(0, newest - limit); index--)
        data.push(shown(documents.get(idOf(index))));
      return { data, has_more: data.length === limit, limit, total: documents.size, page };
    }
    counts.other++;
    if (path.endsWith("/segments")) {
      const data = query.has("status") ? [] : [chunkOf(documents.get(path.split("/").at(-2)))];
      return { data, has_more: false, limit: 100, total: data.length, page: 1 };
    }
    if (path.endsWith("/retrieve")) return { query: { content: body.query }, records: [] };
    const document = documents.get(path.split("/").at(-1));
    return { ...(document && shown(document)), document_process_rule: { mode: "automatic" } };
  };
}

/** Stores what it receives; counts requests and its own working time. */
function serve() {
  const { zipSync } = createRequire(import.meta.url)("fflate");
  const documents = new Map();
  const counts = { lists: 0, zips: 0, writes: 0, other: 0, busy: 0 };
  const answer = routesOf(documents, counts);

  const server = createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const { pathname, searchParams } = new URL(request.url, "http://localhost");
      if (pathname === "/counts") {
        response.end(JSON.stringify(counts));
        for (const name of Object.keys(counts)) counts[name] = 0;
        return;
      }
      const start = performance.now();
      const body = pieces.length > 0 ? JSON.parse(Buffer.concat(pieces).toString()) : undefined;
      if (pathname.endsWith("/download-zip")) {
        counts.zips++;
        const files = body.document_ids.map((id) => [
          `${id}.md`,
          Buffer.from(documents.get(id).text),
        ]);
        response.writeHead(200, { "content-type": "application/zip" });
        response.end(zipSync(Object.fromEntries(files), { level: 0 }));
      } else {
        const text = JSON.stringify(answer(request.method, pathname, searchParams, body));
        response.writeHead(200, { "content-type": "application/json" });
        response.end(text);
      }
      counts.busy += performance.now() - start;
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
