// Reading every row of a long list in each format: speed compared with a loop that reads the pages, memory.
// `node lists.mjs serve COUNT` is the server process.
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  clean,
  compared,
  folder,
  kb,
  isServer,
  loop,
  measured,
  median,
  result,
  serving,
} from "./tools.mjs";

if (isServer(import.meta.url)) serveList(Number(process.argv[3]));

/** Rows like those of a real server, about 900 bytes each. */
export function baseRow(index) {
  return {
    id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    name: `Knowledge base ${index}`,
    description: "Everything that new colleagues ask in their first weeks, and the answers",
    provider: "vendor",
    permission: "all_team_members",
    data_source_type: "upload_file",
    indexing_technique: "economy",
    app_count: index % 7,
    document_count: index % 90,
    word_count: index * 10,
    created_by: "6f1d2c3b-4a59-4e68-8f77-0a1b2c3d4e5f",
    author_name: "admin",
    created_at: 1_790_000_000 - index,
    updated_by: "6f1d2c3b-4a59-4e68-8f77-0a1b2c3d4e5f",
    updated_at: 1_790_000_000 - index,
    embedding_model: null,
    embedding_model_provider: null,
    embedding_available: true,
    retrieval_model_dict: {
      search_method: "keyword_search",
      reranking_enable: false,
      reranking_mode: null,
      reranking_model: { reranking_provider_name: "", reranking_model_name: "" },
      weights: null,
      top_k: 2,
      score_threshold_enabled: false,
      score_threshold: 0.5,
    },
    tags: [],
    doc_form: "text_model",
    external_knowledge_info: null,
    doc_metadata: [],
    built_in_field_enabled: false,
  };
}

/** Serves a list of `total` rows in pages of at most 100. Prints its address. */
function serveList(total) {
  const rows = Array.from({ length: 100 }, (_, index) => JSON.stringify(baseRow(index)));
  const idOf = (index) => String(index).padStart(12, "0");
  const server = createServer((request, response) => {
    const query = new URL(request.url, "http://localhost").searchParams;
    const [page, limit] = [Number(query.get("page")), Number(query.get("limit"))];
    const first = (page - 1) * limit;
    const data = [];
    for (let index = first; index < Math.min(first + limit, total); index++) {
      data.push(rows[index % 100].replace(/(?<=8000-)\d{12}/, idOf(index)));
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      `{"data":[${data}],"has_more":${data.length === limit},"limit":${limit},"total":${total},"page":${page}}`,
    );
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

export async function lists() {
  // With the fewer rows, V8's young generation has already reached its full size.
  const [few, many] = [100_000, 400_000];
  const script = fileURLToPath(import.meta.url);
  const [fewServed, manyServed] = [await serving(script, few), await serving(script, many)];
  const bare = loop(`for (let page = 1; page <= ${few / 100}; page++) {
    const { body } = await agent.request({ origin: ${JSON.stringify(fewServed.origin)}, path: "/v1/datasets?page=" + page + "&limit=100", method: "GET" });
    await body.json();
  }`);
  const file = openSync(join(folder, "rows"), "w");
  const list = (format, { origin }) => {
    const env = { ...clean, KB_BASE_URL: `${origin}/v1`, KB_KEY: "dataset-sandbox" };
    return measured([kb, "list", "--all", "-o", format], env, { stdout: file });
  };
  for (const format of ["jsonl", "csv", "tsv", "grid"]) {
    const runs = await compared({
      count: few,
      bare: () => measured(["-e", bare]),
      ours: () => list(format, fewServed),
      name: `kb list --all -o ${format}`,
      limit: { atLeast: 80 },
    });
    const more = await list(format, manyServed);
    const grown = more.megabytes - median(runs.map((run) => run.megabytes));
    result(`  memory of ${many} rows beyond that`, grown, "MB", { atMost: 30 });
  }
  closeSync(file);
  fewServed.stop();
  manyServed.stop();
}
