/**
 * Each operation of the table succeeds in the sandbox with models: with the first request of its fixture, in
 * which objects that exist take the place of the example IDs.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { valueAt } from "../../src/lib/json.ts";
import { operations } from "../../src/operations/index.ts";
import { createRouter } from "../../src/sandbox/http/request.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { fastClock } from "../lib/fast-clock.ts";
import { recordedApplications } from "../lib/replay.ts";
import { appOf, wireFixtures } from "../lib/wire-fixtures.ts";
import type { WirePart, WireRequest } from "../lib/wire-fixtures.ts";

/** The example IDs of the fixtures, by what they stand for. */
const ids = {
  kb: "11111111-1111-4111-8111-111111111111",
  doc: "22222222-2222-4222-8222-222222222222",
  tag: "33333333-3333-4333-8333-333333333333",
  field: "44444444-4444-4444-8444-444444444444",
  chunk: "55555555-5555-4555-8555-555555555555",
  child: "66666666-6666-4666-8666-666666666666",
  run: "77777777-7777-4777-8777-777777777777",
  task: "88888888-8888-4888-8888-888888888888",
  conversation: "99999999-9999-4999-8999-999999999999",
  message: "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa",
  file: "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb",
  user: "cccccccc-cccc-4ccc-8ccc-cccccccccccc",
  annotation: "dddddddd-dddd-4ddd-8ddd-dddddddddddd",
  variable: "eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee",
  job: "ffffffff-ffff-4fff-8fff-ffffffffffff",
  workflow: "12121212-1212-4212-8212-121212121212",
  batch: "20261121000509577423",
  node: "1717000000000",
  form: "pbd0XGPuYgrshMbvy8wxrM",
};

/** An operation, what to learn from its response, by place, and what replaces parts of its request. */
type Step = readonly [
  operation: string,
  learned?: Readonly<{ [K in keyof typeof ids]?: string }>,
  instead?: Partial<WireRequest>,
];

const upload = (filename: string, type: string): Partial<WireRequest> => ({
  multipart: [
    { name: "file", filename, type, content: "PNG" },
    { name: "user", text: "kb-wf" },
  ],
});
const baseNamed = (keyword: string): Step => [
  "listDatasets",
  { kb: "data.0.id" },
  { query: [["keyword", keyword]] },
];
const plugins: Step = ["listDatasourcePlugins", { node: "0.node_id" }];
const talk = { message: "message_id", conversation: "conversation_id" } as const;
const chat: Step = ["sendChatMessage", talk, {}];

let worlds = 0;
/** What operations find: made by these requests, in an application or with the key of knowledge bases. */
const world: Readonly<Record<string, () => readonly Step[]>> = {
  kb: () => [
    [
      "createDataset",
      { kb: "id" },
      { json: { name: `World ${++worlds}`, indexing_technique: "high_quality" } },
    ],
    [
      "createDocumentFromText",
      { doc: "document.id" },
      { json: { name: "a.md", text: "Parking is free.", indexing_technique: "high_quality" } },
    ],
    ["createSegments", { chunk: "data.0.id" }],
    ["createChildChunk", { child: "data.id" }],
    ["createMetadataField", { field: "id" }, { json: { type: "string", name: "level" } }],
    ["createKnowledgeTag", { tag: "id" }, { json: { name: `tag ${worlds}` } }],
  ],
  "kb of files": () => [baseNamed("Files"), plugins, ["uploadPipelineFile", { file: "id" }]],
  "kb of a website": () => [baseNamed("Website"), plugins],
  echo: () => [
    ["executeWorkflow", { run: "workflow_run_id", task: "task_id", workflow: "data.workflow_id" }],
  ],
  review: () => [
    [
      "executeWorkflow",
      { form: "data.reasons.0.form_token" },
      { json: { inputs: { query: "hello" }, user: "kb-wf" } },
    ],
  ],
  chat: () => [
    ["uploadChatFile", { file: "id", user: "created_by" }, upload("a.png", "image/png")],
    ["sendChatMessage", { ...talk, task: "task_id" }],
  ],
  convo: () => [chat, ["getConversationVariables", { variable: "data.0.id" }]],
  "llm-chat": () => [
    chat,
    ["createAnnotation", { annotation: "id" }],
    ["initialAnnotationReplySettings", { job: "job_id" }],
  ],
  "llm-completion": () => [["createCompletionMessage", { task: "task_id" }]],
};

/** Operations that do not find what they need in the knowledge base, or in the application of their route. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  "kb of files": ["listDatasourcePlugins", "uploadPipelineFile", "runPipeline"],
  "kb of a website": ["runDatasourceNode"],
  review: ["getChatflowHumanInputForm", "submitChatflowHumanInputForm"],
  chat: ["getEndUserChat"],
  convo: ["getConversationVariables", "updateChatConversationVariable"],
  "llm-completion": ["createCompletionMessage", "stopGenerate"],
  "llm-chat": operations
    .map(({ id }) => id)
    .filter((id) => /Annotation|SuggestedQuestions|audio/i.test(id)),
};

/** Requests that need more than their fixtures show. */
const more: Readonly<Record<string, Partial<WireRequest>>> = {
  createCompletionMessage: { json: { inputs: { query: "hello" }, user: "kb-wf" } },
  runPipeline: {
    json: {
      inputs: {},
      datasource_type: "local_file",
      datasource_info_list: [
        { related_id: ids.file, reference: ids.file, name: "a.txt", transfer_method: "local_file" },
      ],
      start_node_id: ids.node,
      is_published: true,
      response_mode: "blocking",
    },
  },
  submitChatflowHumanInputForm: {
    json: { inputs: { comment: "fine" }, action: "approve", user: "kb-wf" },
  },
  sendChatMessage: {
    json: {
      inputs: {},
      query: "Hello",
      user: "kb-wf",
      files: [{ type: "image", transfer_method: "local_file", upload_file_id: ids.file }],
    },
  },
  initialAnnotationReplySettings: {
    json: {
      embedding_provider_name: "langgenius/stub/stub",
      embedding_model_name: "stub-embed",
      score_threshold: 0.9,
    },
  },
  // What the recordings of speech were made with.
  audioToText: upload("good_day.mp3", "audio/mp3"),
  textToAudioChat: { json: { text: "Good day" } },
  runDatasourceNode: {
    json: {
      inputs: { url: "http://127.0.0.1/x" },
      datasource_type: "website_crawl",
      is_published: true,
    },
  },
};

let sandbox: Sandbox;
/** The IDs of the objects that take the place of the examples. */
const known = new Map<string, string>();

beforeAll(async () => {
  const applications = [...recordedApplications.values()];
  sandbox = await startSandbox({
    clock: fastClock(200),
    directory: null,
    models: true,
    applications,
  });
});
afterAll(() => sandbox.stop());

const route = createRouter(operations);

/** The world that exists: what has changed it is the end of it. */
let made: string | undefined;

test.each([...new Map(operations.map(({ id, key }) => [id, key]))])("%s", async (id, key) => {
  const home =
    Object.keys(elsewhere).find((name) => elsewhere[name]?.includes(id)) ??
    (key === "dataset" ? "kb" : appOf(requestOf([id]).path));
  if (home !== made) for (const step of world[home]?.() ?? []) await play(step, home);
  const { method } = await play([id], home);
  made = method === "GET" ? home : undefined;
});

/** Sends the request of a step and learns from its response; what is uploaded has been indexed then. */
async function play(step: Step, home: string): Promise<WireRequest> {
  const [id, learned = {}] = step;
  const request = requestOf(step);
  const { method, path, query = [], json, multipart } = request;
  expect(route(method, path.replace("/v1", ""), "1.14.2")).toMatchObject({ row: { id } });
  const url = new URL(path, sandbox.origin);
  for (const [name, value] of query) url.searchParams.append(name, value);
  const response = await fetch(url, {
    method,
    headers: {
      Authorization: `Bearer ${home.startsWith("kb") ? "dataset-sandbox" : `app-${home}`}`,
      ...(json !== undefined && { "Content-Type": "application/json" }),
    },
    body: multipart ? formOf(multipart) : (JSON.stringify(json) ?? null),
  });
  const text = await response.text();
  expect(response.status, text).toBeGreaterThanOrEqual(200);
  expect(response.status, text).toBeLessThan(300);
  expect(text).not.toMatch(failed);
  for (const [name, place] of Object.entries(learned))
    known.set(ids[name as keyof typeof ids], learnedFrom(text, place));
  const [, batch] = /"batch": "(\d+)"/.exec(text) ?? [];
  if (batch !== undefined) known.set(ids.batch, batch);
  if (batch !== undefined || (id === indexing && unfinished.test(text)))
    await play([indexing], home);
  return request;
}

const indexing = "getDocumentIndexingStatus";
const unfinished = /"indexing_status": "(waiting|parsing|splitting|indexing)"/;

/** The failures that a response with 200 can report: of documents, runs and streams. */
const failed = /"(event|status|indexing_status)": ?"([a-z_]*error|failed)"/;

/** The first request of a fixture, with what is known in the place of the example IDs. */
function requestOf([id, , instead = more[id]]: Step): WireRequest {
  const request = wireFixtures.get(id)?.cases[0]?.request;
  let text = JSON.stringify({ ...request, ...instead });
  for (const [example, value] of known) text = text.replaceAll(example, value);
  return JSON.parse(text) as WireRequest;
}

function formOf(parts: readonly WirePart[]): FormData {
  const form = new FormData();
  for (const { name, filename, type = "", content = "", json, text } of parts) {
    if (filename === undefined) form.set(name, text ?? JSON.stringify(json));
    else form.set(name, new File([content], filename, { type }));
  }
  return form;
}

/** A value of a response; of a stream, of its first event that has data. */
function learnedFrom(text: string, place: string): string {
  const [, event] = /^data: (.*)$/m.exec(text) ?? [];
  const value = valueAt(JSON.parse(event ?? text), place);
  if (typeof value !== "string") throw new Error(`no text at ${place} of ${text}`);
  return value;
}
