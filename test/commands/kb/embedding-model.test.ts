import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readRequest } from "../../../src/sandbox/http/exchange.ts";
import { listening } from "../../lib/listening.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const provider = "langgenius/stub/stub";
const dimensions: Readonly<Record<string, number>> = {
  "stub-embed": 256,
  "stub-embed-64": 64,
  "BAAI/bge-m3": 1024,
};

/** Search settings with weights, which name their model. */
const weighted = (embedding_model_name: string, provider_name = provider) => ({
  search_method: "hybrid_search",
  reranking_enable: false,
  top_k: 2,
  score_threshold_enabled: false,
  reranking_mode: "weighted_score",
  weights: {
    weight_type: "customized",
    vector_setting: {
      vector_weight: 0.7,
      embedding_provider_name: provider_name,
      embedding_model_name,
    },
    keyword_setting: { keyword_weight: 0.3 },
  },
});

/** State of a knowledge base on a server with models (recordings: model-change, switch-model). */
let base = {
  indexing_technique: "high_quality" as string,
  embedding_model: "stub-embed" as string | null,
  embedding_model_provider: provider as string | null,
};
let storedSearch: object | undefined;
/** The model of its index; null if there is none. */
let indexedWith: string | null = "stub-embed";
/** Does indexing fail? And the number of polls until a worker starts. */
let failing = false;
let lag = 0;
let models: readonly string[] = Object.keys(dimensions);
let sent: readonly (readonly [line: string, body: unknown])[] = [];
let baseUrl = "";

const document = () => ({
  id: "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8f",
  name: "leave.md",
  indexing_status: failing && indexedWith === null ? "error" : "completed",
  error: failing && indexedWith === null ? "the model failed" : null,
  enabled: true,
  archived: false,
  word_count: 7,
  created_at: 1,
  position: 1,
  doc_metadata: null,
  data_source_info: { upload_file_id: "f1" },
  data_source_detail_dict: { upload_file: { id: "f1", size: 7, extension: "txt" } },
});

const shown = () => ({
  id,
  name: "Handbook",
  description: "",
  permission: "only_me",
  tags: [],
  doc_form: "text_model",
  document_count: 1,
  retrieval_model_dict: {
    search_method: "semantic_search",
    reranking_enable: false,
    top_k: 2,
    score_threshold_enabled: false,
  } as object,
  ...(storedSearch && { retrieval_model_dict: storedSearch }),
  ...base,
});

/** Changes settings like the server: without a technique, a model is only stored. */
function patch(body: Record<string, unknown>): readonly [number, unknown] {
  const { indexing_technique: technique, embedding_model: model } = body;
  if (technique === "high_quality" && base.indexing_technique === "economy" && !model)
    return [500, { code: "unknown", message: "Internal Server Error", status: 500 }];
  const changed = model !== undefined && model !== base.embedding_model;
  const { retrieval_model, ...rest } = body;
  base = { ...base, ...rest } as typeof base;
  if (retrieval_model) storedSearch = retrieval_model;
  if (technique === "high_quality" && changed) indexedWith = failing ? null : String(model);
  return [200, shown()];
}

function search(): readonly [number, unknown] {
  if (lag-- > 0 || dimensions[indexedWith ?? ""] !== dimensions[base.embedding_model ?? ""]) {
    const message = "different vector dimensions 64 and 256";
    return [400, { code: "invalid_param", message, status: 400 }];
  }
  return [200, { query: { content: "x" }, records: [] }];
}

function respond(line: string, body: unknown): readonly [number, unknown] {
  const page = (...data: unknown[]) => ({
    data,
    has_more: false,
    limit: 100,
    page: 1,
    total: data.length,
  });
  if (line.startsWith("GET /v1/workspaces/current/models"))
    return [200, { data: [{ provider, models: models.map((model) => ({ model })) }] }];
  if (line.startsWith("GET /v1/datasets?")) return [200, page(shown())];
  if (/documents(\?|$)/.test(line)) return [200, page(document())];
  if (line.endsWith("/metadata")) return [200, { doc_metadata: [], built_in_field_enabled: false }];
  if (line.endsWith("/retrieve")) return search();
  if (line.startsWith("PATCH")) return patch(body as Record<string, unknown>);
  return [200, shown()];
}

beforeAll(async () => {
  const server = createServer((request, response) => {
    void readRequest(request).then(({ method, path, body }) => {
      const text = new TextDecoder().decode(body);
      const json: unknown = text === "" ? undefined : JSON.parse(text);
      const line = `${method} ${path}`;
      sent = [...sent, [line, json]];
      const [status, content] = respond(line, json);
      response.writeHead(status, { "content-type": "application/json", "x-version": "1.14.2" });
      response.end(JSON.stringify(content));
    });
  });
  baseUrl = await listening(server);
});

beforeEach(() => {
  base = {
    indexing_technique: "high_quality",
    embedding_model: "stub-embed",
    embedding_model_provider: provider,
  };
  storedSearch = undefined;
  [indexedWith, failing, lag, models, sent] = ["stub-embed", false, 0, Object.keys(dimensions), []];
});

const folder = await temporaryDirectory();

/** Plans or applies a file of the knowledge base of this name. */
async function withFileOf(name: string, command: "plan" | "apply", ...lines: readonly string[]) {
  const path = join(folder, "kb.yml");
  await writeFile(path, `${[`knowledge_base: ${name}`, ...lines].join("\n")}\n`);
  const env = { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" };
  return cli(["kb", command, path], { env, folder });
}
const withFile = (command: "plan" | "apply", ...lines: readonly string[]) =>
  withFileOf("Handbook", command, ...lines);
const modelReads = () => sent.filter(([line]) => line.startsWith("GET /v1/workspaces")).length;
const writes = () => sent.filter(([line]) => !/^GET|retrieve$/.test(line));

describe("another embedding model in a file", () => {
  test.each([`${provider}/stub-embed-64`, "stub/stub-embed-64", "stub-embed-64"])(
    "%s is sent with provider and technique, and verified with a search",
    async (written) => {
      lag = 2;
      const ran = await withFile("apply", `embedding_model: ${written}`);
      expect(ran.exit, ran.err).toBe(0);
      expect(writes().map(([, body]) => body)).toEqual([
        {
          indexing_technique: "high_quality",
          embedding_model: "stub-embed-64",
          embedding_model_provider: provider,
        },
      ]);
      expect(sent.filter(([line]) => line.endsWith("/retrieve"))).toHaveLength(3);
      expect(ran.out).toContain(
        `embedding_model\t${provider}/stub-embed\t${provider}/stub-embed-64`,
      );
      expect((await withFile("plan", `embedding_model: ${written}`)).out).toBe("");
    },
  );

  test("failed documents or failing searches give exit code 9", async () => {
    failing = true;
    const ran = await withFile("apply", "embedding_model: stub-embed-64");
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain("1 of 1 documents failed: leave.md: the model failed");
    expect(ran.err).toContain("some changes were made");
    [failing, lag] = [false, 1000];
    indexedWith = base.embedding_model = "stub-embed";
    const broken = await withFile("apply", "embedding_model: stub-embed-64");
    expect(broken.exit).toBe(9);
    expect(broken.err).toContain("searches fail: failed to search");
    expect(broken.err).toMatch(/write each document again: `kb update \S+ --rewrite`/);
  });

  test.each([
    [
      "embedding_model: nope",
      3,
      'embedding model "nope" not found',
      "active models: langgenius/stub/stub/stub-embed, ",
    ],
    [
      "indexing_technique: economy\nembedding_model: stub-embed-64",
      2,
      "economy indexing does not use an embedding model",
      "high_quality",
    ],
  ])("%s is rejected by plan and apply before anything is sent", async (lines, exit, why, hint) => {
    for (const command of ["plan", "apply"] as const) {
      const ran = await withFile(command, lines);
      expect(ran.exit).toBe(exit);
      expect(ran.err).toContain(why);
      expect(ran.err).toContain(hint);
    }
    expect(writes()).toEqual([]);
  });
});

describe("a model whose name has a slash is sent whole, and the models are read once", () => {
  const whole = {
    indexing_technique: "high_quality",
    embedding_model: "BAAI/bge-m3",
    embedding_model_provider: provider,
  };

  test.each(["Handbook", "New"])("in the file of knowledge base %s", async (name) => {
    const ran = await withFileOf(name, "apply", "embedding_model: BAAI/bge-m3");
    expect(ran.exit, ran.err).toBe(0);
    expect(writes().map(([, body]) => body)).toMatchObject([whole]);
    expect(modelReads()).toBe(1);
  });

  test("by an import", async () => {
    const manifest = {
      kb_export: 1,
      source: { base_url: "http://a", id, name: "Handbook" },
      rules: {},
      state: {
        settings: {
          name: "Handbook",
          description: "",
          permission: "only_me",
          indexing_technique: "high_quality",
          embedding_model: `${provider}/BAAI/bge-m3`,
        },
        tags: [],
        fields: [],
        built_in_fields: false,
        documents: [],
      },
    };
    const sum = createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
    await writeFile(join(folder, "manifest.json"), JSON.stringify({ ...manifest, sum }));
    const env = { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" };
    const ran = await cli(["kb", "import", folder, "--name", "Copy"], { env, folder });
    expect(ran.exit, ran.err).toBe(0);
    expect(writes().map(([, body]) => body)).toMatchObject([{ name: "Copy", ...whole }]);
    expect(modelReads()).toBe(1);
  });

  test("by kb update", async () => {
    const argv = ["kb", "update", id, "--embedding-model", "BAAI/bge-m3"];
    const ran = await cli(argv, { env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" } });
    expect(ran.exit, ran.err).toBe(0);
    expect(writes().map(([, body]) => body)).toEqual([whole]);
    expect(modelReads()).toBe(1);
  });
});

test("high_quality without a model is rejected by plan and apply before anything is sent", async () => {
  base = { indexing_technique: "economy", embedding_model: null, embedding_model_provider: null };
  models = ["stub-embed"];
  for (const command of ["plan", "apply"] as const) {
    const ran = await withFile(command, "indexing_technique: high_quality");
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("high_quality indexing requires an embedding model");
    expect(ran.err).toContain(`hint: add embedding_model: ${provider}/stub-embed`);
  }
  expect(writes()).toEqual([]);
});

test("the weights of the search settings name the new model", async () => {
  const run = (...argv: readonly string[]) =>
    cli(["kb", ...argv], { env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" }, folder });
  storedSearch = weighted("stub-embed");
  const updated = await run("update", id, "--embedding-model", "stub-embed-64");
  expect(updated.exit, updated.err).toBe(0);
  expect(writes().map(([, body]) => body)).toMatchObject([
    { embedding_model: "stub-embed-64", retrieval_model: weighted("stub-embed-64") },
  ]);
  // A file in which only the model was changed; applying it twice changes nothing.
  const file = (await run("pull", "Handbook")).out;
  const path = join(folder, "weights.yml");
  const model = (name: string) => `embedding_model: ${provider}/${name}\n`;
  expect(file).toContain(model("stub-embed-64"));
  await writeFile(path, file.replace(model("stub-embed-64"), model("stub-embed")));
  sent = [];
  const applied = await run("apply", path);
  expect(applied.exit, applied.err).toBe(0);
  expect(storedSearch).toEqual(weighted("stub-embed"));
  expect((await run("plan", path)).out).toBe("");
});
