// 10,000 documents with 200,000 chunks: memory and requests of a backup, and of a check.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { afterFile } from "../lib/cleanup.ts";
import { root } from "../lib/paths.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { createZip } from "../lib/zip.ts";

const documents = Number(process.env["SCALE"] ?? 10_000);
const chunks = 20;
const home = await temporaryDirectory();
const kb = "11111111-1111-4111-8111-111111111111";
const idOf = (at: number, kind = "2222") =>
  `${String(at).padStart(8, "0")}-${kind}-4222-8222-222222222222`;
const textOf = (at: number) => `Document ${at} has a text. `.repeat(10);
const requests = new Map<string, number>();

const document = (at: number) => ({
  id: idOf(at),
  position: at + 1,
  name: `${at}.md`,
  created_at: 1_790_000_000,
  created_from: "api",
  data_source_info: { upload_file_id: idOf(at, "3333") },
  data_source_detail_dict: { upload_file: { extension: "txt", size: textOf(at).length } },
  indexing_status: "completed",
  display_status: "available",
  error: null,
  enabled: true,
  archived: false,
  dataset_process_rule_id: kb,
  word_count: 200,
  doc_metadata: [],
});
const chunk = (of: string, at: number) => ({
  id: idOf(at, of.slice(4, 8)),
  position: at + 1,
  content: `Chunk ${at} of ${of}. `.repeat(5),
  answer: null,
  keywords: ["chunk", "document"],
  enabled: true,
  status: "completed",
  child_chunks: [],
  document_id: of,
});

/** The response of a server with generated content: nothing of it is kept. */
function responseTo(path: string, query: URLSearchParams, body: string): unknown {
  const page = Number(query.get("page") ?? 1);
  const limit = Number(query.get("limit") ?? 20);
  const rows = <T>(total: number, row: (at: number) => T) => {
    const data = Array.from(
      { length: Math.max(0, Math.min(limit, total - (page - 1) * limit)) },
      (_, at) => row((page - 1) * limit + at),
    );
    return { data, total, page, limit, has_more: data.length === limit };
  };
  if (path.endsWith("/documents")) return rows(documents, document);
  const segments = /documents\/([^/]+)\/segments$/.exec(path);
  if (segments)
    return query.has("status")
      ? rows(0, String)
      : rows(chunks, (at) => chunk(segments[1] ?? "", at));
  if (path.endsWith("/download-zip")) {
    const { document_ids } = JSON.parse(body) as { document_ids: string[] };
    return createZip(
      document_ids.map((id) => ({
        name: `${id}.md`,
        bytes: Buffer.from(textOf(Number(id.slice(0, 8)))),
      })),
      new Date(1_790_000_000_000),
    );
  }
  if (path.endsWith("/metadata")) return { doc_metadata: [], built_in_field_enabled: false };
  if (/documents\/[^/]+$/.test(path))
    return { ...document(0), document_process_rule: { mode: "automatic", rules: null } };
  const retrieval_model_dict = { search_method: "keyword_search", top_k: 2 };
  const base = {
    id: kb,
    name: "Large",
    description: "",
    permission: "only_me",
    provider: "vendor",
    tags: [],
  };
  return {
    ...base,
    indexing_technique: "economy",
    doc_form: "text_model",
    embedding_model: null,
    embedding_model_provider: null,
    retrieval_model_dict,
  };
}

const server = createServer((request, reply) => {
  let body = "";
  request.on("data", (part: Buffer) => (body += part.toString()));
  request.on("end", () => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    const key = `${request.method} ${pathname.replace("/v1/datasets", "").replaceAll(/[0-9a-f-]{36}/g, "ID")}`;
    requests.set(key, (requests.get(key) ?? 0) + 1);
    const value = responseTo(pathname, searchParams, body);
    const isZip = value instanceof Uint8Array;
    reply.writeHead(200, {
      "content-type": isZip ? "application/zip" : "application/json",
      "x-version": "1.16.1",
    });
    reply.end(isZip ? value : JSON.stringify(value));
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
afterFile(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as AddressInfo;
const peak =
  "data:text/javascript,process.on('exit',()=>process._rawDebug('peak%20'+process.resourceUsage().maxRSS))";

/** Runs the built program; returns its peak memory in MB. */
async function run(...argv: string[]): Promise<number> {
  requests.clear();
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    KB_BASE_URL: `http://127.0.0.1:${port}/v1`,
    KB_KEY: "dataset-x",
  };
  const child = spawn(process.execPath, ["--import", peak, join(root, "bin", "kb.js"), ...argv], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (part: Buffer) => (err += part.toString()));
  const [exit] = (await once(child, "close")) as unknown[];
  expect(exit, err.slice(-2000)).toBe(0);
  return Number(/^peak (\d+)$/m.exec(err)?.[1]) / 1000;
}

// A full last page may have a next one (server §5), so it is requested, too.
const pages = Math.ceil(documents / 100);
const sent = () => Object.fromEntries(requests);

test("a backup, the same again, and a check stay below 200 MB", async () => {
  const directory = join(home, "backup");
  const lists = { "GET /ID/documents": pages + 1, "GET /ID/documents/ID/segments": documents };
  expect(await run("backup", directory, kb)).toBeLessThan(200);
  expect(sent()).toMatchObject({ ...lists, "POST /ID/documents/download-zip": pages });
  expect(await run("backup", directory, kb)).toBeLessThan(200);
  expect(sent()).toMatchObject(lists);
  expect(sent()).not.toHaveProperty("POST /ID/documents/download-zip");
  expect(await run("check", kb)).toBeLessThan(200);
  // Chunks in error and the number of all chunks, of each document; those of five tell whether their index is there.
  expect(sent()).toMatchObject({
    "GET /ID/documents": pages + 3,
    "GET /ID/documents/ID/segments": 2 * documents + 5,
    "POST /ID/documents/download-zip": pages,
  });
}, 1_200_000);
