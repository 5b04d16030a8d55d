/** Each operation of the table succeeds in the sandbox with models. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { valueAt } from "../../src/lib/json.ts";
import { operations } from "../../src/operations/index.ts";
import { createRouter } from "../../src/sandbox/http/router.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { fastClock } from "../lib/fast-clock.ts";
import { recordedApplications } from "../lib/replay.ts";

/** A file and the fields beside it. */
interface Form {
  readonly file: readonly [name: string, type: string, content: string];
  readonly data?: object;
  readonly user?: string;
}

/**
 * A request: the operation, whose key is sent (`kb`, or an application), method and path, the body, and
 * names for values of the response by their place. `$name` stands for such a value in later requests.
 */
type Step = readonly [
  operation: string,
  key: string,
  line: string,
  body?: object | null,
  learned?: Readonly<Record<string, string>>,
];

const text = { name: "welcome.md", text: "Laptops wait on day one.\n\nParking is free." };
const note = { file: ["notes.md", "text/markdown", "Lockers are free."] } as const satisfies Form;
const sound = { file: ["good_day.mp3", "audio/mp3", "ID3"], user: "u1" } as const satisfies Form;
const picture = { file: ["a.png", "image/png", "PNG"], user: "u1" } as const satisfies Form;
const embedding = {
  embedding_provider_name: "langgenius/stub/stub",
  embedding_model_name: "stub-embed",
  score_threshold: 0.9,
};
const base = "/datasets/$kb";
const doc = "/datasets/$kb/documents/$doc";
const chunk = `${doc}/segments/$chunk`;
const indexed: Step = [
  "getDocumentIndexingStatus",
  "kb",
  `GET ${base}/documents/$batch/indexing-status`,
];
const values = [{ id: "$field", name: "team", value: "people" }];
const query = { inputs: { query: "hello" }, user: "u1" };
const sent = {
  inputs: {},
  query: "Hello",
  user: "u1",
  files: [{ type: "image", transfer_method: "local_file", upload_file_id: "$file" }],
};

const knowledge: readonly Step[] = [
  [
    "createDataset",
    "kb",
    "POST /datasets",
    { name: "Handbook", indexing_technique: "high_quality" },
    { kb: "id" },
  ],
  ["listDatasets", "kb", "GET /datasets"],
  ["getDatasetDetail", "kb", `GET ${base}`],
  ["updateDataset", "kb", `PATCH ${base}`, { description: "New" }],
  ["getAvailableModels", "kb", "GET /workspaces/current/models/model-types/text-embedding"],
  [
    "createDocumentFromText",
    "kb",
    `POST ${base}/document/create-by-text`,
    { ...text, indexing_technique: "high_quality" },
    { doc: "document.id", batch: "batch" },
  ],
  indexed,
  ["updateDocumentByText", "kb", `POST ${doc}/update-by-text`, text, { batch: "batch" }],
  indexed,
  ["updateDocumentByFile", "kb", `POST ${doc}/update-by-file`, note, { batch: "batch" }],
  indexed,
  ["updateDocument", "kb", `PATCH ${doc}`, note, { batch: "batch" }],
  indexed,
  [
    "createDocumentFromFile",
    "kb",
    `POST ${base}/document/create-by-file`,
    { ...note, data: { indexing_technique: "high_quality", process_rule: { mode: "automatic" } } },
    { batch: "batch" },
  ],
  indexed,
  ["listDocuments", "kb", `GET ${base}/documents`],
  ["getDocumentDetail", "kb", `GET ${doc}`],
  ["downloadDocument", "kb", `GET ${doc}/download`],
  ["downloadDocumentsZip", "kb", `POST ${base}/documents/download-zip`, { document_ids: ["$doc"] }],
  ["retrieveSegments", "kb", `POST ${base}/retrieve`, { query: "lockers" }],
  [
    "createSegments",
    "kb",
    `POST ${doc}/segments`,
    { segments: [{ content: "Coffee is free." }] },
    { chunk: "data.0.id" },
  ],
  ["listSegments", "kb", `GET ${doc}/segments`],
  ["getSegmentDetail", "kb", `GET ${chunk}`],
  ["updateSegment", "kb", `POST ${chunk}`, { segment: { content: "Tea is free." } }],
  [
    "createChildChunk",
    "kb",
    `POST ${chunk}/child_chunks`,
    { content: "Tea." },
    { child: "data.id" },
  ],
  ["getChildChunks", "kb", `GET ${chunk}/child_chunks`],
  ["updateChildChunk", "kb", `PATCH ${chunk}/child_chunks/$child`, { content: "Green tea." }],
  ["deleteChildChunk", "kb", `DELETE ${chunk}/child_chunks/$child`],
  ["deleteSegment", "kb", `DELETE ${chunk}`],
  [
    "createMetadataField",
    "kb",
    `POST ${base}/metadata`,
    { type: "string", name: "team" },
    { field: "id" },
  ],
  ["listMetadataFields", "kb", `GET ${base}/metadata`],
  [
    "batchUpdateDocumentMetadata",
    "kb",
    `POST ${base}/documents/metadata`,
    { operation_data: [{ document_id: "$doc", metadata_list: values }] },
  ],
  ["updateMetadataField", "kb", `PATCH ${base}/metadata/$field`, { name: "department" }],
  ["deleteMetadataField", "kb", `DELETE ${base}/metadata/$field`],
  ["getBuiltInMetadataFields", "kb", `GET ${base}/metadata/built-in`],
  ["toggleBuiltInMetadataField", "kb", `POST ${base}/metadata/built-in/enable`],
  ["createKnowledgeTag", "kb", "POST /datasets/tags", { name: "draft" }, { tag: "id" }],
  ["updateKnowledgeTag", "kb", "PATCH /datasets/tags", { tag_id: "$tag", name: "final" }],
  [
    "bindTagsToDataset",
    "kb",
    "POST /datasets/tags/binding",
    { tag_ids: ["$tag"], target_id: "$kb" },
  ],
  ["queryDatasetTags", "kb", `GET ${base}/tags`],
  [
    "unbindTagFromDataset",
    "kb",
    "POST /datasets/tags/unbinding",
    { tag_id: "$tag", target_id: "$kb" },
  ],
  ["getKnowledgeTags", "kb", "GET /datasets/tags"],
  ["deleteKnowledgeTag", "kb", "DELETE /datasets/tags", { tag_id: "$tag" }],
  [
    "batchUpdateDocumentStatus",
    "kb",
    `PATCH ${base}/documents/status/disable`,
    { document_ids: ["$doc"] },
  ],
  ["deleteDocument", "kb", `DELETE ${doc}`],
  ["deleteDataset", "kb", `DELETE ${base}`],
  ["listDatasets", "kb", "GET /datasets?keyword=Files", null, { kb: "data.0.id" }],
  [
    "listDatasourcePlugins",
    "kb",
    `GET ${base}/pipeline/datasource-plugins`,
    null,
    { node: "0.node_id" },
  ],
  ["uploadPipelineFile", "kb", "POST /datasets/pipeline/file-upload", note, { upload: "id" }],
  [
    "runPipeline",
    "kb",
    `POST ${base}/pipeline/run`,
    {
      inputs: {},
      datasource_type: "local_file",
      datasource_info_list: [
        {
          reference: "$upload",
          related_id: "$upload",
          name: "notes.md",
          transfer_method: "local_file",
        },
      ],
      start_node_id: "$node",
      is_published: true,
      response_mode: "blocking",
    },
    { batch: "batch" },
  ],
  indexed,
  ["listDatasets", "kb", "GET /datasets?keyword=Website", null, { kb: "data.0.id" }],
  [
    "runDatasourceNode",
    "kb",
    `POST ${base}/pipeline/datasource/nodes/d/run`,
    { inputs: { url: "http://127.0.0.1/x" }, datasource_type: "website_crawl", is_published: true },
  ],
];

const apps: readonly Step[] = [
  ["getChatAppInfo", "echo", "GET /info"],
  ["getChatAppMeta", "echo", "GET /meta"],
  ["getChatAppParameters", "echo", "GET /parameters"],
  ["getChatWebAppSettings", "echo", "GET /site"],
  [
    "executeWorkflow",
    "echo",
    "POST /workflows/run",
    { ...query, response_mode: "streaming" },
    { run: "workflow_run_id", task: "task_id", workflow: "data.workflow_id" },
  ],
  ["runWorkflowById", "echo", "POST /workflows/$workflow/run", query],
  ["getWorkflowRunDetail", "echo", "GET /workflows/run/$run"],
  ["streamWorkflowEvents", "echo", "GET /workflow/$run/events?user=u1"],
  ["stopWorkflowTaskGeneration", "echo", "POST /workflows/tasks/$task/stop", { user: "u1" }],
  ["getWorkflowLogs", "echo", "GET /workflows/logs"],
  [
    "executeWorkflow",
    "review",
    "POST /workflows/run",
    query,
    { form: "data.reasons.0.form_token" },
  ],
  ["getChatflowHumanInputForm", "review", "GET /form/human_input/$form"],
  [
    "submitChatflowHumanInputForm",
    "review",
    "POST /form/human_input/$form",
    { inputs: { comment: "fine" }, action: "approve", user: "u1" },
  ],
  ["uploadChatFile", "chat", "POST /files/upload", picture, { file: "id", user: "created_by" }],
  ["getEndUserChat", "chat", "GET /end-users/$user"],
  [
    "sendChatMessage",
    "chat",
    "POST /chat-messages",
    sent,
    { message: "message_id", talk: "conversation_id", task: "task_id" },
  ],
  ["stopChatMessageGeneration", "chat", "POST /chat-messages/$task/stop", { user: "u1" }],
  ["previewChatFile", "chat", "GET /files/$file/preview?user=u1"],
  ["getConversationHistory", "chat", "GET /messages?conversation_id=$talk&user=u1"],
  [
    "postChatMessageFeedback",
    "chat",
    "POST /messages/$message/feedbacks",
    { rating: "like", user: "u1" },
  ],
  ["getChatAppFeedbacks", "chat", "GET /app/feedbacks"],
  ["getConversationsList", "chat", "GET /conversations?user=u1"],
  ["renameConversation", "chat", "POST /conversations/$talk/name", { name: "Work", user: "u1" }],
  ["deleteConversation", "chat", "DELETE /conversations/$talk", { user: "u1" }],
  [
    "sendChatMessage",
    "convo",
    "POST /chat-messages",
    { inputs: {}, query: "Hi", user: "u1" },
    { talk: "conversation_id" },
  ],
  [
    "getConversationVariables",
    "convo",
    "GET /conversations/$talk/variables?user=u1",
    null,
    { variable: "data.0.id" },
  ],
  [
    "updateChatConversationVariable",
    "convo",
    "PUT /conversations/$talk/variables/$variable",
    { value: "happy", user: "u1" },
  ],
  [
    "sendChatMessage",
    "llm-chat",
    "POST /chat-messages",
    { inputs: {}, query: "Hi", user: "u1" },
    { message: "message_id" },
  ],
  ["getSuggestedQuestions", "llm-chat", "GET /messages/$message/suggested?user=u1"],
  [
    "createCompletionMessage",
    "llm-completion",
    "POST /completion-messages",
    query,
    { task: "task_id" },
  ],
  ["stopGenerate", "llm-completion", "POST /completion-messages/$task/stop", { user: "u1" }],
  ["audioToText", "llm-chat", "POST /audio-to-text", sound],
  ["textToAudioChat", "llm-chat", "POST /text-to-audio", { text: "Good day" }],
  [
    "createAnnotation",
    "llm-chat",
    "POST /apps/annotations",
    { question: "Who?", answer: "I." },
    { note: "id" },
  ],
  ["getAnnotationList", "llm-chat", "GET /apps/annotations"],
  [
    "updateAnnotation",
    "llm-chat",
    "PUT /apps/annotations/$note",
    { question: "Who?", answer: "We." },
  ],
  [
    "initialAnnotationReplySettings",
    "llm-chat",
    "POST /apps/annotation-reply/enable",
    embedding,
    { job: "job_id" },
  ],
  [
    "getInitialAnnotationReplySettingsStatus",
    "llm-chat",
    "GET /apps/annotation-reply/enable/status/$job",
  ],
  ["deleteAnnotation", "llm-chat", "DELETE /apps/annotations/$note"],
];

const steps = [...knowledge, ...apps];

test("every operation has a request", () => {
  const requested = new Set(steps.map(([operation]) => operation));
  expect(operations.map(({ id }) => id).filter((id) => !requested.has(id))).toEqual([]);
});

const route = createRouter(operations);

let sandbox: Sandbox;
/** What the responses gave, by name. */
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

const titled = steps.map((step) => [`${step[0]} of ${step[1]}: ${step[2]}`, step] as const);

test.each(titled)("%s", async (_title, step) => {
  const [operation, key, line, body, learned = {}] = step;
  const [method = "", path = ""] = filled(line).split(" ");
  expect(route(method, path.replace(/\?.*/, ""), "1.14.2")).toMatchObject({
    row: { id: operation },
  });
  const send = async () => {
    const response = await fetch(`${sandbox.origin}/v1${path}`, {
      method,
      ...contentOf(key, body),
    });
    return { status: response.status, text: await response.text() };
  };
  let { status, text } = await send();
  while (step === indexed && unfinished.test(text)) ({ status, text } = await send());
  expect(status, text).toBeGreaterThanOrEqual(200);
  expect(status, text).toBeLessThan(300);
  expect(text).not.toMatch(failed);
  for (const [name, place] of Object.entries(learned)) known.set(name, learnedFrom(text, place));
});

const unfinished = /"indexing_status": "(waiting|parsing|splitting|indexing)"/;

/** The failures that a response with 200 can report: of documents, runs and streams. */
const failed = /"(event|status|indexing_status)": ?"([a-z_]*error|failed)"/;

/** The text with what is known in the place of the names. */
const filled = (text: string): string =>
  text.replace(/\$(\w+)/g, (_, name: string) => known.get(name) ?? `missing ${name}`);

/** The headers and the body of a request. */
function contentOf(key: string, body: object | null = null): RequestInit {
  const secret = key === "kb" ? "dataset-sandbox" : `app-${key}`;
  const headers = { Authorization: `Bearer ${secret}` };
  if (body === null) return { headers };
  if (!("file" in body)) {
    const json = { ...headers, "Content-Type": "application/json" };
    return { headers: json, body: filled(JSON.stringify(body)) };
  }
  const { file, data, user } = body as Form;
  const [name, type, content] = file;
  const form = new FormData();
  form.set("file", new File([content], name, { type }));
  if (data) form.set("data", JSON.stringify(data));
  if (user) form.set("user", user);
  return { headers, body: form };
}

/** A value of a response; of a stream, of its first event that has data. */
function learnedFrom(text: string, place: string): string {
  const [, event] = /^data: (.*)$/m.exec(text) ?? [];
  const value = valueAt(JSON.parse(event ?? text), place);
  if (typeof value !== "string") throw new Error(`no text at ${place} of ${text}`);
  return value;
}
