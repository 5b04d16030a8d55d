// Syncing a directory and exporting a knowledge base: requests, documents per second, memory.
// `node knowledge.mjs serve` is the server process; it stores what it receives.
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  clean,
  compared,
  folder,
  kb,
  loop,
  measured,
  openSandbox,
  result,
  serving,
} from "./tools.mjs";

const base = "11111111-1111-4111-8111-111111111111";
const idOf = (index) => `22222222-2222-4222-8222-${String(index).padStart(12, "0")}`;

if (process.argv[2] === "serve") serve();

/** Returns a document as lists show it. */
function shown(document) {
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

const knowledgeBase = {
  id: base,
  name: "Bench",
  description: "",
  permission: "only_me",
  indexing_technique: "economy",
  doc_form: "text_model",
  tags: [],
  retrieval_model_dict: { search_method: "keyword_search", top_k: 2 },
};

/** Implements the routes that sync and export need; counts requests and its own working time. */
function serve() {
  const { zipSync } = createRequire(import.meta.url)("fflate");
  const documents = new Map();
  const fields = [];
  const counts = { lists: 0, zips: 0, writes: 0, other: 0, busy: 0 };

  const answer = (method, path, query, body) => {
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
    const { id } = [...documents.values()][0] ?? {};
    return { ...(id && shown(documents.get(id))), document_process_rule: { mode: "automatic" } };
  };

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

/** Measures a sync and an export of 10,000 documents. */
export async function knowledge() {
  const count = 10_000;
  const concurrency = 3;
  const directory = join(folder, "docs");
  for (let part = 0; part < 100; part++) {
    mkdirSync(join(directory, String(part)), { recursive: true });
    for (let index = 0; index < count / 100; index++)
      writeFileSync(
        join(directory, String(part), `${index}.md`),
        `Page ${part} ${index}. `.repeat(60),
      );
  }
  await firstSync(concurrency);

  const script = fileURLToPath(import.meta.url);
  const server = await serving(script);
  const counted = async ({ origin }) => (await fetch(`${origin}/counts`)).json();
  const env = { ...clean, KB_BASE_URL: `${server.origin}/v1`, KB_KEY: "dataset-bench" };
  const sync = [kb, "sync", base, directory, "--concurrency", String(concurrency), "-q"];
  await measured(sync, env);
  await counted(server);
  const second = await measured(sync, env);
  const again = await counted(server);
  const own = second.seconds - again.busy / 1000;
  const title = `kb sync of ${count} unchanged files`;
  result(`${title}, lists`, again.lists, "requests", { atMost: 100 });
  result("  writes", again.writes, "requests", { atMost: 0 });
  result("  beyond the server's own time", own, "s", { atMost: 3 });
  result("  memory", second.megabytes, "MB", { atMost: 150 });

  const exported = await measured([kb, "export", base, join(folder, "backup"), "-q"], env);
  const asked = await counted(server);
  const each = (100 * (asked.zips + asked.other)) / count;
  const exportTitle = `kb export of ${count}, requests beside lists`;
  result(exportTitle, each, "for 100", { atMost: 1.1 });
  result("  documents", count / exported.seconds, "per second");
  result("  memory", exported.megabytes, "MB");
  server.stop();

  const shards = await serving(script);
  const shardEnv = { ...env, KB_BASE_URL: `${shards.origin}/v1` };
  await measured(sync, shardEnv);
  await counted(shards);
  for (let index = 1; index <= 8; index++)
    await measured([...sync, "--shard", `${index}/8`], shardEnv);
  const all = await counted(shards);
  const worth = all.lists / again.lists;
  result("eight shards, unchanged, complete lists read", worth, "lists", {
    atMost: 16,
  });
  result("  writes", all.writes, "requests", { atMost: 0 });
  shards.stop();

  const block = Buffer.alloc(64 * 1024 * 1024, 7);
  const start = performance.now();
  createHash("sha256").update(block).digest("hex");
  const speed = 64 / ((performance.now() - start) / 1000);
  result("SHA-256", speed, "MB/s", { atLeast: 400 });
}

/**
 * Syncs new files to the sandbox, which does the work of a server: against a server that responds at
 * once, only the overhead of a bare loop would be measured.
 */
async function firstSync(lanes) {
  const { address, env, stop } = await openSandbox();
  const headers = { authorization: `Bearer ${address.key}`, "content-type": "application/json" };
  const directory = join(folder, "new");
  const count = 3000;
  for (let index = 0; index < count; index++) {
    mkdirSync(join(directory, String(index % 30)), { recursive: true });
    writeFileSync(join(directory, String(index % 30), `${index}.md`), `Page ${index}. `.repeat(60));
  }
  const made = async () => {
    const body = JSON.stringify({ name: randomUUID(), indexing_technique: "economy" });
    const answer = await fetch(`${address.base_url}/datasets`, { method: "POST", headers, body });
    return (await answer.json()).id;
  };
  // Sends the requests of a sync: an upload for each file, and marks for fifty documents at a time; a
  // sync that waits marks them as pending first, and polls the list until all are indexed.
  const bareLoop = (id, waits) =>
    loop(`
      const { readdirSync, readFileSync } = require("node:fs");
      const { createHash } = require("node:crypto");
      const call = async (method, path, body) => {
        const response = await agent.request({
          origin: ${JSON.stringify(new URL(address.base_url).origin)}, path: "/v1/datasets/${id}" + path, method,
          headers: ${JSON.stringify(headers)}, ...(body && { body: JSON.stringify(body) }),
        });
        return response.body.json();
      };
      const inLanes = async (items, send) => {
        let next = 0;
        await Promise.all(Array.from({ length: ${lanes} }, async () => {
          for (let item = items[next++]; item; item = items[next++]) await send(item);
        }));
      };
      const fields = {};
      for (const name of ["kb_path", "kb_source", "kb_hash", "kb_file"])
        fields[name] = (await call("POST", "/metadata", { name, type: "string" })).id;
      const mark = (documents, before = "") => call("POST", "/documents/metadata", {
        operation_data: documents.map(({ id, path, hash }) => ({
          document_id: id,
          metadata_list: Object.entries({ kb_path: path, kb_source: ".", kb_hash: before + hash, kb_file: id })
            .map(([name, value]) => ({ id: fields[name], name, value })),
          partial_update: true,
        })),
      });
      const folder = ${JSON.stringify(`${directory}/`)};
      const documents = [];
      let marked = 0;
      await inLanes(readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".md")), async (path) => {
        const text = readFileSync(folder + path, "utf8");
        const { document } = await call("POST", "/document/create-by-text", { name: path, text, indexing_technique: "economy" });
        documents.push({ id: document.id, path, hash: createHash("sha256").update(text).digest("hex") });
        if (${waits} && documents.length - marked >= 50) await mark(documents.slice(marked, (marked += 50)), "pending:");
      });
      for (let open = ${waits}; open;) {
        open = false;
        for (let page = 1, more = true; more; page++) {
          const { data, has_more } = await call("GET", "/documents?limit=100&page=" + page);
          open ||= data.some((each) => each.indexing_status !== "completed");
          more = has_more;
        }
      }
      const batches = Array.from({ length: documents.length / 50 }, (_, at) => documents.slice(50 * at, 50 * at + 50));
      await inLanes(batches, (batch) => mark(batch));`);
  for (const [flags, title] of [
    [["--no-wait"], `kb sync --no-wait of ${count} new files`],
    [[], `kb sync of ${count} new files`],
  ])
    await compared({
      count,
      unit: "per second",
      bare: async () => measured(["-e", bareLoop(await made(), flags.length === 0)]),
      ours: async () => measured([kb, "sync", await made(), directory, ...flags, "-q"], env),
      name: title,
      limit: { atLeast: 95 },
    });
  await stop();
  rmSync(directory, { recursive: true });
}
