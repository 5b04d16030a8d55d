// Commands that read every knowledge base: time and memory of 1,000 and of 5,000.
// `node bases.mjs serve COUNT` is the server process, which keeps nothing.
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { baseRow } from "./lists.mjs";
import { clean, grown, isServer, kb, measured, serving } from "./tools.mjs";

if (isServer(import.meta.url)) serve(Number(process.argv[3]));

/** Answers lists of knowledge bases, and of each one its settings, a search with two results, and no documents. */
function serve(total) {
  const record = (base, position) => ({
    segment: {
      id: `${base.slice(0, -3)}${100 + position}`,
      document_id: base,
      position,
      content: `Passage ${position} of ${base}`,
      answer: null,
      keywords: [],
      document: { id: base, name: "Passages" },
    },
    child_chunks: [],
    score: 0,
  });
  const list = (data, page, limit, count) => ({
    data,
    page,
    limit,
    total: count,
    has_more: page * limit < count,
  });
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const [page, limit] = [Number(searchParams.get("page")), Number(searchParams.get("limit"))];
    const [, , , id, route] = pathname.split("/");
    let answer = id === undefined ? undefined : baseRow(Number(id.slice(-12)));
    if (route === "retrieve") answer = { query: {}, records: [record(id, 1), record(id, 2)] };
    else if (route !== undefined) answer = list([], 1, limit, 0);
    else if (id === undefined) {
      const rows = Math.min(limit, total - (page - 1) * limit);
      const data = Array.from({ length: rows }, (_, at) => baseRow((page - 1) * limit + at));
      answer = list(data, page, limit, total);
    }
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

export async function bases() {
  const sizes = [1000, 5000];
  const servers = new Map();
  for (const size of sizes) servers.set(size, await serving(fileURLToPath(import.meta.url), size));
  const load = (name, argv) =>
    grown({
      name,
      unit: "base",
      sizes,
      run(size) {
        const { origin } = servers.get(size);
        const env = { ...clean, KB_BASE_URL: `${origin}/v1`, KB_KEY: "dataset-bench" };
        return measured([kb, ...argv], env);
      },
    });
  await load("kb list --all -o jsonl", ["list", "--all", "-o", "jsonl"]);
  await load("kb list --all, as a table", ["list", "--all", "-o", "grid"]);
  await load("kb search --all", ["search", "--all", "parental leave", "--top-k", "5", "-q"]);
  await load("kb check --all", ["check", "--all", "-q"]);
  for (const { stop } of servers.values()) stop();
}
