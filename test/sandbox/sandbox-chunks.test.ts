/** Chunks, child chunks, and questions with answers in knowledge bases with models. */
import { describe, expect, test } from "vitest";
import { PROVIDER } from "../../src/sandbox/models/catalog.ts";
import { openTestSandbox } from "../lib/sandbox-client.ts";

const hierarchical = {
  indexing_technique: "high_quality",
  doc_form: "hierarchical_model",
  process_rule: {
    mode: "hierarchical",
    rules: {
      pre_processing_rules: [],
      segmentation: { separator: "\n\n", max_tokens: 500 },
      parent_mode: "paragraph",
      subchunk_segmentation: { separator: ". ", max_tokens: 200 },
    },
  },
};

const semanticSearch = (settings: object = {}) => ({
  search_method: "semantic_search",
  reranking_enable: false,
  top_k: 1,
  score_threshold_enabled: false,
  ...settings,
});

/** A knowledge base with a document: its chunks, and what a search finds. */
async function openBase(text: string, settings: object, server = "1.14.2") {
  const sandbox = await openTestSandbox({ models: true, server });
  const { call, add } = sandbox;
  const { id: base } = await call("POST", "/datasets", { name: "Handbook" });
  const document = await add(base, "a.md", text, settings);
  const path = `/datasets/${base}/documents/${document}/segments`;
  const chunks = async () => (await call("GET", path)).data;
  /** The chunks that are found, each with the child chunks by which. */
  const search = async (query: string, retrieval_model: object = semanticSearch()) =>
    (await call("POST", `/datasets/${base}/retrieve`, { query, retrieval_model })).records.map(
      ({ segment, child_chunks }) => [
        segment.content,
        ...child_chunks.map(({ content }) => content),
      ],
    );
  return { ...sandbox, base, document, path, chunks, search };
}

const openFamily = async () => {
  const opened = await openBase(
    "# Leave\n\nThirty days of leave. Trains are booked.",
    hierarchical,
  );
  const [, parent] = await opened.chunks();
  return { ...opened, parent: `${opened.path}/${parent?.id}` };
};

describe("child chunks", () => {
  const parentText = "Thirty days of leave. Trains are booked.";

  test("are split from their parent, which keeps its first signs", async () => {
    const { chunks } = await openFamily();
    const shown = (await chunks()).map(({ content, child_chunks }) => [
      content,
      ...child_chunks.map((child) => child.content),
    ]);
    expect(shown).toEqual([
      ["# Leave", "# Leave"],
      [parentText, "Thirty days of leave", "Trains are booked."],
    ]);
  });

  test.each(["semantic_search", "full_text_search", "hybrid_search"])(
    "find their parent: %s",
    async (search_method) => {
      const { search } = await openFamily();
      const found = await search("trains booked", semanticSearch({ search_method }));
      expect(found).toEqual([[parentText, "Trains are booked."]]);
    },
  );

  test("count for top_k, also where they have one parent", async () => {
    const { search } = await openFamily();
    const found = await search("thirty days of trains booked", semanticSearch({ top_k: 2 }));
    expect(found).toEqual([[parentText, "Thirty days of leave", "Trains are booked."]]);
  });

  test("are found by their current content until they are deleted", async () => {
    const { call, search, parent } = await openFamily();
    const { data } = await call("POST", `${parent}/child_chunks`, { content: "Bicycles" });
    const child = `${parent}/child_chunks/${(data as unknown as { readonly id: string }).id}`;
    expect(await search("bicycles")).toEqual([[parentText, "Bicycles"]]);
    await call("PATCH", child, { content: "Lockers" });
    expect(await search("lockers")).toEqual([[parentText, "Lockers"]]);
    await call("DELETE", child);
    const words = semanticSearch({ search_method: "full_text_search" });
    expect(await search("lockers", words)).toEqual([]);
  });

  test.each(["POST", "PATCH"])("that cannot be embedded change nothing: %s", async (method) => {
    const { call, chunks, parent } = await openFamily();
    const before = await chunks();
    const { data } = await call("GET", `${parent}/child_chunks`);
    const path = method === "POST" ? "child_chunks" : `child_chunks/${data[0]?.id}`;
    const content = "[[embed-error:rate]]";
    const { status, code, message } = await call(method, `${parent}/${path}`, { content });
    expect([status, code]).toEqual([400, "invalid_param"]);
    expect(message).toBe("Rate limit reached for stub-chat: 3 requests per minute");
    expect(await chunks()).toEqual(before);
  });

  test.each([
    [false, ["Thirty days of leave", "Trains are booked.", "By hand"]],
    [true, ["New", "Text."]],
  ])(
    "are made again with regenerate_child_chunks %s",
    async (regenerate_child_chunks, expected) => {
      const { call, parent } = await openFamily();
      await call("POST", `${parent}/child_chunks`, { content: "By hand" });
      await call("POST", parent, { segment: { content: "New. Text.", regenerate_child_chunks } });
      const { data } = await call("GET", `${parent}/child_chunks`);
      expect(data.map(({ content }) => content)).toEqual(expected);
    },
  );

  test("are made and found at once where a parent is added", async () => {
    const { call, path, search } = await openFamily();
    const segments = [{ content: "Lockers. Bicycles in the yard." }];
    await call("POST", path, { segments });
    expect(await search("bicycles yard")).toEqual([
      ["Lockers. Bicycles in the yard.", "Bicycles in the yard."],
    ]);
  });

  test("are embedded when their knowledge base gets a model", async () => {
    const economy = { ...hierarchical, indexing_technique: "economy" };
    const { call, clock, base, chunks, search } = await openBase("One. Two.", economy);
    expect((await chunks()).map(({ status }) => status)).toEqual(["indexing"]);
    await call("PATCH", `/datasets/${base}`, {
      indexing_technique: "high_quality",
      embedding_model: "stub-embed",
      embedding_model_provider: "stub",
    });
    await clock.advance(1000);
    expect(await search("two")).toEqual([["One. Two.", "Two."]]);
  });
});

describe("a chunk", () => {
  const plain = { indexing_technique: "high_quality" };

  test("whose change cannot be embedded ends in error, until it is changed again", async () => {
    const { call, path, chunks, search } = await openBase("Parking.", plain);
    const [chunk] = await chunks();
    const change = (content: string) =>
      call("POST", `${path}/${chunk?.id}`, { segment: { content, enabled: true } });
    const { status } = await change("Bicycles [[embed-error:auth]]");
    expect(status).toBe(200);
    expect(await chunks()).toMatchObject([
      {
        content: "Bicycles [[embed-error:auth]]",
        status: "error",
        enabled: false,
        disabled_by: null,
        error: "[Stub] Incorrect model credentials provided, please check and try again.",
      },
    ]);
    expect(await search("parking bicycles")).toEqual([]);
    await change("Bicycles");
    expect(await chunks()).toMatchObject([{ status: "completed", enabled: true, error: null }]);
    expect(await search("bicycles")).toEqual([["Bicycles"]]);
  });

  test("is searched among those that the conditions accept, however many are better", async () => {
    const { call, base, add, search } = await openBase("Parking for guests.", plain);
    const other = await add(base, "b.md", "Parking.", plain);
    const { id } = await call("POST", `/datasets/${base}/metadata`, {
      name: "team",
      type: "string",
    });
    await call("POST", `/datasets/${base}/documents/metadata`, {
      operation_data: [{ document_id: other, metadata_list: [{ id, name: "team", value: "X" }] }],
    });
    const conditions = [{ name: "team", comparison_operator: "is not", value: "X" }];
    const settings = {
      reranking_enable: true,
      reranking_model: { reranking_provider_name: "stub", reranking_model_name: "stub-rerank" },
      metadata_filtering_conditions: { conditions },
    };
    expect(await search("parking", semanticSearch(settings))).toEqual([["Parking for guests."]]);
  });
});

/** What is stored of an update (server §9.7), and what is sent; the chunk is `Parking.` with the keyword `lot`. */
const updates: readonly (readonly [
  what: string,
  sent: object,
  vectors: object,
  economy: object,
])[] = [
  [
    "keywords with a changed content",
    { content: "Bicycles.", keywords: ["rack"] },
    { content: "Bicycles.", keywords: null, enabled: true },
    { content: "Bicycles.", keywords: ["rack"], enabled: true },
  ],
  [
    "keywords with the same content",
    { content: "Parking.", keywords: ["rack"] },
    { content: "Parking.", keywords: ["rack"], enabled: true },
    { content: "Parking.", keywords: ["rack"], enabled: true },
  ],
  [
    "keywords alone",
    { keywords: ["rack"] },
    { content: "Parking.", keywords: ["rack"], enabled: true },
    { content: "Parking.", keywords: ["rack"], enabled: true },
  ],
  [
    "everything with enabled: false",
    { content: "Bicycles.", keywords: ["rack"], enabled: false },
    { content: "Parking.", keywords: ["lot"], enabled: false },
    { content: "Parking.", keywords: ["lot"], enabled: false },
  ],
];

describe.each(["1.12.1", "1.14.2", "1.15.0", "1.16.1"])("a server of %s", (server) => {
  test.each(updates)("stores of an update %s", async (_what, segment, vectors, economy) => {
    for (const [indexing_technique, expected] of [
      ["high_quality", vectors],
      ["economy", economy],
    ] as const) {
      const { call, path, chunks } = await openBase("Parking.", { indexing_technique }, server);
      const [chunk] = await chunks();
      const change = (sent: object) => call("POST", `${path}/${chunk?.id}`, { segment: sent });
      await change({ keywords: ["lot"] });
      expect((await change(segment)).status).toBe(200);
      expect(await chunks(), indexing_technique).toMatchObject([expected]);
    }
  });
});

describe("a knowledge base whose provider has no credentials", () => {
  const open = async () => {
    const opened = await openBase("Parking.", { indexing_technique: "high_quality" });
    const [chunk] = await opened.chunks();
    opened.sandbox.models.withoutCredentials.add(PROVIDER);
    return { ...opened, chunk: `${opened.path}/${chunk?.id}` };
  };
  const model = "Model stub-embed credentials is not initialized.";
  const unavailable = `The dataset is unavailable, due to: ${model}`;

  test.each([
    ["GET", "", "provider_not_initialize", model],
    ["POST", "", "provider_not_initialize", model],
    ["GET", "/ID", "invalid_param", unavailable],
    ["POST", "/ID", "invalid_param", unavailable],
    ["DELETE", "/ID", "invalid_param", unavailable],
    ["POST", "/ID/child_chunks", "provider_not_initialize", model],
  ])("rejects %s segments%s", async (method, place, code, message) => {
    const { call, path, chunk } = await open();
    const at = place === "" ? path : place.replace("/ID", chunk);
    const content = { content: "a" };
    const body = { segments: [content], segment: content, ...content };
    expect(await call(method, at, method === "POST" ? body : undefined)).toMatchObject({
      status: 400,
      code,
      message,
    });
  });

  test("finds nothing until it has some again", async () => {
    const { call, base, sandbox, search } = await open();
    const query = { query: "parking", retrieval_model: semanticSearch() };
    expect(await call("POST", `/datasets/${base}/retrieve`, query)).toMatchObject({
      code: "invalid_param",
      message: model,
    });
    sandbox.models.withoutCredentials.delete(PROVIDER);
    expect(await search("parking")).toEqual([["Parking."]]);
  });

  test("takes documents, which end in error", async () => {
    const { call, base, add } = await open();
    const id = await add(base, "b.md", "Lockers.", { indexing_technique: "high_quality" });
    expect(await call("GET", `/datasets/${base}/documents/${id}`)).toMatchObject({
      indexing_status: "error",
      error: model,
    });
  });
});

describe("a question", () => {
  const questions = { indexing_technique: "high_quality", doc_form: "qa_model" };

  test.each([
    ["with its answer", { content: "Where?", answer: "Here." }, "Where?", "Here.", "completed"],
    ["without its answer", { content: "Where?" }, "What is said in sentence 1?", null, "error"],
    [
      "whose answer alone is sent",
      { answer: "B." },
      "What is said in sentence 1?",
      "B.",
      "completed",
    ],
    ["of which nothing is sent", {}, "What is said in sentence 1?", null, "completed"],
  ])("changed %s", async (_what, segment, content, answer, status) => {
    const { call, path, chunks } = await openBase("A.", questions);
    const [chunk] = await chunks();
    expect((await call("POST", `${path}/${chunk?.id}`, { segment })).status).toBe(200);
    expect(await chunks()).toMatchObject([{ content, answer, status }]);
  });

  test("is counted with its answer only if it was added", async () => {
    const { call, path, chunks } = await openBase("A.", questions);
    await call("POST", path, { segments: [{ content: "Where?", answer: "Here." }] });
    expect(await chunks()).toMatchObject([
      { word_count: 27, tokens: 7 }, // "What is said in sentence 1?"
      { word_count: 11, tokens: 3 }, // "Where?Here."
    ]);
  });
});
