import { describe, expect, test } from "vitest";
import { parseErrorBody } from "../../src/api/error-body.ts";
import { apiErrorOf } from "../../src/api/api-error.ts";
import { atLeast } from "../../src/lib/version.ts";
import { operations } from "../../src/operations/index.ts";
import { methodAndPath } from "../../src/operations/operation.ts";
import { bodyText, exchanges, headersOf } from "../lib/recordings.ts";

/** Exit codes by status and server code; exceptions are listed by title below. */
const exits: Readonly<Record<string, number>> = {
  "308 ": 6,
  "400 ": 5,
  "400 invalid_param": 5,
  "400 bad_request": 5,
  "400 invalid_metadata": 5,
  "400 invalid_form_data": 5,
  "400 invalid_action": 5,
  "400 no_file_uploaded": 5,
  "400 too_many_files": 5,
  "400 bad_request_key_error": 5,
  "400 no_audio_uploaded": 5,
  "400 speech_to_text_disabled": 5,
  // An error of a model or its provider: it is not the caller's key, and the code covers limits and wrong keys.
  "400 completion_request_error": 5,
  "400 provider_not_initialize": 5,
  "400 app_unavailable": 6,
  "400 not_workflow_app": 6,
  "400 not_chat_app": 6,
  "401 unauthorized": 4,
  "403 archived_document_immutable": 5,
  "403 forbidden": 4,
  "404 ": 6,
  "404 not_found": 3,
  "404 file_not_found": 3,
  "404 end_user_not_found": 3,
  "405 method_not_allowed": 6,
  "409 dataset_name_duplicate": 5,
  "412 human_input_form_submitted": 5,
  "413 file_too_large": 5,
  "413 request_entity_too_large": 5,
  "413 audio_too_large": 5,
  "414 ": 5,
  "415 unsupported_media_type": 5,
  "415 unsupported_file_type": 5,
  "415 unsupported_audio_type": 5,
  "500 ": 1,
  "500 unknown": 1,
  "500 internal_server_error": 1,
  "500 pipeline_run_error": 1,
};
/** Responses whose meaning only their text shows. */
const exitsByTitle: Readonly<Record<string, number>> = {
  // A server error with a 4xx status (server §3).
  "older-1.12.1.json: create tag": 1,
  "older-1.12.1.json: list tags: the refused one is there": 1,
  "older-1.12.1.json: list tags after the rename": 1,
  "metadata.json: rename unknown field": 1,
  "1.16/metadata.json: rename unknown field": 1,
  "1.16/differences.json: rename unknown field": 1,
  // Switched off (server §3.1).
  "chat.json: suggested questions": 6,
  "1.16/chat.json: suggested questions": 6,
  "1.16/agent-new.json: suggested questions": 6,
  // Too many at once (server §4).
  "1.15/misc.json: run over the limit of the application, streaming": 7,
};

// The largest upload was recorded without its request.
const errors = exchanges.filter(({ request, response }) => response.status >= 300 && request);

/** The row whose route a recorded path fits. */
function rowFor(method: string, path: string) {
  const bare = path.replace(/^\/v1/, "").replace(/\?.*$/, "");
  return operations.find((row) => {
    const [verb, template] = methodAndPath(row);
    return verb === method && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(bare);
  });
}

test("the recordings contain more than 120 API errors", () => {
  expect(errors.length).toBeGreaterThan(120);
});

describe.each(errors.map((exchange) => [exchange.name, exchange] as const))(
  "%s",
  (name, exchange) => {
    const { request } = exchange;
    const { status } = exchange.response;
    const response = { status, headers: headersOf(exchange), text: bodyText(exchange) };
    const row = rowFor(request.method, request.path);
    const error = apiErrorOf(response, {
      method: request.method,
      path: request.path,
      row,
      writes: request.method !== "GET",
    });
    const code = error.response.serverCode ?? "";

    test("has the expected exit code", () => {
      const expected = exitsByTitle[name] ?? exits[`${status} ${code}`];
      expect(error.exit).toBe(expected);
    });

    test("has a short message with the status, without pydantic details or HTML", () => {
      expect(error.message).toMatch(/\S/);
      expect(error.message).not.toMatch(
        /errors\.pydantic|<html|You have requested this URI|\[type=/,
      );
      expect(error.message.length).toBeLessThan(700);
      expect(error.message).toContain(String(status));
    });
  },
);

test.each([
  [
    "no code, no status, fields by name",
    '{"errors":{"name":"too long"},"message":"Input payload validation failed"}',
    "name: too long (400)",
  ],
  ["error alone", '{"error":"Segments is required"}', "Segments is required (400)"],
  [
    "params",
    '{"code":"invalid_param","message":"Missing required parameter","params":"user","status":400}',
    "user: Missing required parameter (400 invalid_param)",
  ],
  [
    "an empty message",
    '{"code":"invalid_param","message":"","status":400}',
    "the server gave no reason (400 invalid_param)",
  ],
  [
    "a message that is not a string",
    '{"code":"x","message":["a","b"],"status":400}',
    "a; b (400 x)",
  ],
  [
    "a message that is a list of fields",
    '{"code":"unprocessable_entity","message":[{"type":"string_too_long","loc":["name"],"msg":"String should have at most 40 characters","input":"x"},{"loc":["a",0,"b"],"msg":"Value error, odd"}],"status":422}',
    "name: must have at most 40 characters; a.0.b: odd (422 unprocessable_entity)",
  ],
  [
    "a message that is a list of fields as text",
    JSON.stringify({
      code: "unprocessable_entity",
      message: '[{"loc": ["name"], "msg": "Field required"}, {"loc": [], "msg": "odd"}]',
      status: 422,
    }),
    "name: Field required; odd (422 unprocessable_entity)",
  ],
  [
    "a message that is a list of something else",
    '{"code":"unprocessable_entity","message":"[1, null, {}]","status":422}',
    "[1, null, {}] (422 unprocessable_entity)",
  ],
  [
    "a message that is an object as text",
    '{"code":"x","message":"{\\"name\\":\\"odd\\"}","status":422}',
    '{"name":"odd"} (422 x)',
  ],
  // Errors of gateways and frameworks.
  [
    "problem+json",
    '{"type":"about:blank","title":"Invalid request","detail":"Your request is not valid","status":422}',
    "Your request is not valid (422)",
  ],
  ["a problem with a title alone", '{"title":"Invalid request"}', "Invalid request (422)"],
  [
    "a problem with a list of errors",
    '{"title":"Invalid","errors":[{"pointer":"#/name","detail":"too long"},{"path":"x","message":"odd"},"bad"]}',
    "#/name: too long; x: odd; bad (422)",
  ],
  [
    "a detail that is a list",
    '{"detail":[{"loc":["body","name"],"msg":"field required","type":"missing"}]}',
    "name: is required (422)",
  ],
  [
    "an error that is an object",
    '{"error":{"message":"No such model","code":"model_not_found"}}',
    "No such model (422 model_not_found)",
  ],
  [
    "an OAuth error",
    '{"error":"invalid_token","error_description":"It expired"}',
    "It expired (422)",
  ],
  [
    "lists of reasons by field",
    '{"errors":{"name":["too long","odd"]}}',
    "name: too long, odd (422)",
  ],
  ["a JSON string", '"Not today"', "Not today (422)"],
  [
    "fields without messages",
    '{"errors":[null,7,{}],"detail":null}',
    "the server gave no reason (422)",
  ],
])("%s is read", (_, text, message) => {
  const status = Number(/\((\d+)/.exec(message)?.[1]);
  const response = { status, headers: { "content-type": "application/json" }, text };
  const error = apiErrorOf(response, { method: "POST", path: "/v1/datasets", writes: true });
  expect(error.message).toBe(message);
  expect(error.exit).toBe(5);
});

test("an error body of another format is included in the details", () => {
  const body = { title: "Invalid request", detail: "Your request is not valid", trace: "7" };
  const response = { status: 422, headers: {}, text: JSON.stringify(body) };
  const error = apiErrorOf(response, { method: "POST", path: "/v1/datasets", writes: true });
  expect(error.info.details).toEqual({ response: body });
});

test.each([
  [
    "400",
    "invalid_param",
    "",
    "the file was rejected: file too large, or type not supported by the server (400 invalid_param)",
  ],
  ["413", "file_too_large", "", "the file was rejected: file too large (413 file_too_large)"],
  [
    "413",
    "audio_too_large",
    "Audio size larger than 30 mb",
    "the file was rejected: Audio size larger than 30 mb (413 audio_too_large)",
  ],
  [
    "415",
    "unsupported_file_type",
    "File type not allowed.",
    "the file was rejected: File type not allowed. (415 unsupported_file_type)",
  ],
  [
    "415",
    "unsupported_audio_type",
    "",
    "the file was rejected: file type not supported by the server (415 unsupported_audio_type)",
  ],
  [
    "413",
    "request_entity_too_large",
    "The data value transmitted exceeds the capacity limit.",
    "The data value transmitted exceeds the capacity limit. (413 request_entity_too_large)",
  ],
])("an upload rejected with %s %s names the file and the reason", (status, code, text, message) => {
  const response = {
    status: Number(status),
    headers: { "x-version": "1.15.0" },
    text: JSON.stringify({ code, message: text, status: Number(status) }),
  };
  const request = { method: "POST", path: "/v1/files/upload", writes: true, file: "a.exe" };
  expect(apiErrorOf(response, request).message).toBe(message);
});

test("database errors are shortened to their cause", () => {
  const path = "/v1/datasets/0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e/retrieve";
  const request = { method: "POST", path, writes: false };
  const info = (name: string) => {
    const exchange = errors.find((each) => each.name === name);
    const { status } = exchange?.response ?? { status: 0 };
    const text = exchange ? bodyText(exchange) : "";
    return apiErrorOf({ status, headers: { "x-version": "1.14.2" }, text }, request);
  };
  const empty = info("model-change.json: search a knowledge base without documents, semantic");
  expect(empty.message).toBe(
    "the knowledge base has no indexed documents for this search method (400 invalid_param)",
  );
  expect(empty.exit).toBe(5);
  const [kind, sql] = ["psycopg2.errors.InvalidTextRepresentation", "SELECT documents.id FROM x"];
  const words = 'invalid input syntax for type double precision: "2026-05-01"';
  const message = `(${kind}) ${words}\n\n[SQL: ${sql}]\n(Background on this error at: https://x)`;
  const text = JSON.stringify({ code: "internal_server_error", message, status: 500 });
  const broken = apiErrorOf({ status: 500, headers: { "x-version": "1.14.2" }, text }, request);
  expect(broken.message).toBe(`server error: database error: ${words} (500 internal_server_error)`);
  expect(broken.exit).toBe(1);
});

test("an exception of the server is reported as a server error", () => {
  const exchange = errors.find(({ name }) => name === "1.15/chunks-more.json: search with a hit");
  const response = { status: 500, headers: {}, text: exchange ? bodyText(exchange) : "" };
  const search = apiErrorOf(response, { method: "POST", path: "/v1/x/retrieve", writes: false });
  expect(search.message).toMatch(/^server error: Can't operate on closed transaction/);
  expect([search.exit, search.info.sideEffect]).toEqual([1, undefined]);
  const write = apiErrorOf(response, { method: "PATCH", path: "/v1/datasets/x", writes: true });
  expect([write.exit, write.info.sideEffect]).toEqual([1, "unknown"]);
});

const model = /model/;
test.each([
  ["high-quality.json: embedding model answers an error: rate", model],
  ["high-quality.json: embedding model answers an error: auth", model],
  ["high-quality.json: embedding model answers an error: bad", model],
  ["high-quality.json: embedding model answers an error: connection", model],
  ["high-quality.json: embedding model answers an error: unavailable", model],
  ["high-quality.json: embedding model answers an error: unknown", model],
  ["high-quality.json: embedding model answers an error: daemon", model],
  ["high-quality.json: embedding model answers an error: plain", model],
  ["high-quality.json: rerank model answers an error: rate", model],
  ["parent-child.json: add a child chunk whose embedding fails", model],
  ["chatflow-model.json: chatflow, model error, blocking: rate", model],
  ["completion.json: model error, blocking: rate", model],
  ["completion.json: model error, blocking: http500", model],
  ["chat-model.json: model error, blocking: auth", model],
  ["audio.json: transcribe, model error: unknown", model],
  ["model-change.json: run, provider without credentials", model],
  ["model-change.json: completion, model disabled, blocking", model],
  ["model-change.json: chat, provider without credentials", model],
  ["model-change.json: disable a document, provider without credentials", model],
  ["1.15/uploads.json: audio, audio/mp3", model],
  ["1.16/disable-enable.json: economy: archive", /ten minutes/],
  ["high-quality.json: top_k 0", undefined],
  ["1.15/start-refused.json: unknown file, blocking", undefined],
  ["completion.json: completion without its required input", undefined],
])("%s: the hint names the cause", (name, hint) => {
  const exchange = errors.find((each) => each.name === name);
  expect(exchange, name).toBeDefined();
  if (!exchange) return;
  const { method, path } = exchange.request;
  const response = { status: 400, headers: headersOf(exchange), text: bodyText(exchange) };
  const error = apiErrorOf(response, { method, path, writes: true });
  expect(error.exit).toBe(5);
  if (hint) expect(error.info.hint).toMatch(hint);
  else expect(error.info.hint).toBeUndefined();
});

test("a wrong path in the base URL is not reported as an old server", () => {
  const response = {
    status: 404,
    headers: { "content-type": "text/html", "x-version": "1.15.0" },
    text: "<!doctype html><title>404</title>",
  };
  const error = apiErrorOf(response, { method: "GET", path: "/v2/datasets", writes: false });
  expect(error.exit).toBe(6);
  expect(error.info.hint).toContain("/v1");
});

test("if the server fails to build a list, the hint mentions external knowledge bases", () => {
  const text = JSON.stringify({
    code: "invalid_param",
    message: "1 validation error for DatasetListResponse\ndata.0\n  Input should be … [type=x]",
    status: 400,
  });
  const error = apiErrorOf(
    { status: 400, headers: {}, text },
    { method: "GET", path: "/v1/datasets", writes: false },
  );
  expect(error.exit).toBe(1);
  expect(error.info.hint).toContain("external");
});

test.each([
  [429, '{"code":"too_many_requests","message":"x"}', 7, true],
  [429, '{"code":"rate_limit_error","message":"x"}', 7, undefined],
  [
    400,
    '{"code":"invalid_param","message":"Too many requests. Please try again later. The current maximum concurrent requests allowed for a is 1."}',
    7,
    true,
  ],
  [
    403,
    '{"code":"forbidden","message":"Sorry, you have reached the knowledge base request rate limit of your subscription."}',
    7,
    true,
  ],
  [
    403,
    '{"code":"forbidden","message":"The number of documents has reached the limit of your subscription."}',
    7,
    undefined,
  ],
  [
    403,
    '{"code":"forbidden","message":"To unlock this feature and elevate your Dify experience, please upgrade."}',
    7,
    undefined,
  ],
  [403, '{"code":"forbidden","message":"Dataset api access is not enabled."}', 4, undefined],
  [400, '{"code":"provider_quota_exceeded","message":"quota"}', 7, undefined],
  // Documented for newer servers but never recorded: recognized by status and format.
  [402, '{"code":"quota_exceeded","message":"x"}', 7, undefined],
  [403, '{"code":"insufficient_credits","message":"x"}', 7, undefined],
  [503, '{"code":"service_unavailable","message":"x","status":503}', 1, true],
  [400, '{"code":"document_indexing","message":"x","status":400}', 5, undefined],
])("%d %s exits with %d", (status, text, exit, retryable) => {
  const error = apiErrorOf(
    { status, headers: {}, text },
    { method: "POST", path: "/v1/x", writes: true },
  );
  expect(error.exit).toBe(exit);
  expect(error.info.retryable).toBe(retryable);
});

test("a validation message is parsed into fields and reasons", () => {
  const recorded = errors.find(
    ({ name }) => name === "errors.json: name too long and bad technique",
  );
  const body = parseErrorBody({
    status: 400,
    headers: {},
    text: recorded ? bodyText(recorded) : "",
  });
  expect(body.fields).toEqual([
    { field: "name", reason: "must have at most 40 characters" },
    { field: "indexing_technique", reason: "must be 'high_quality' or 'economy'" },
  ]);
});

test("an HTML page is a wrong base URL without X-Version, an old server with an old version", () => {
  const row = operations.find(({ id }) => id === "streamWorkflowEvents");
  const request = { method: "GET", path: "/v1/workflow/x/events", row, writes: false };
  const page = { status: 404, text: "<!doctype html><title>404</title>" };
  const wrong = apiErrorOf({ ...page, headers: { "content-type": "text/html" } }, request);
  expect(wrong.message).toContain("not an API endpoint");
  const old = apiErrorOf(
    { ...page, headers: { "content-type": "text/html", "x-version": "1.13.2" } },
    request,
  );
  expect(old.message).toBe(
    "the server is version 1.13.2; this command needs 1.14.0 or later (404)",
  );
});

test.each([
  ["1.9.2", "1.14.0", true],
  ["1.14.0", "1.14.0", false],
  ["1.14.0-beta.1", "1.14.0", false],
  ["2.0.0", "1.14.0", false],
])("version %s is older than %s: %s", (a, b, older) => {
  expect(!atLeast(a, b)).toBe(older);
});
