import { describe, expect, test } from "vitest";
import { olderThan, refusalOf, saidBy } from "../src/api/refusal.ts";
import { operations } from "../src/operations/index.ts";
import { methodAndPath } from "../src/operations/operation.ts";
import { bodyText, exchanges, headersOf } from "./recordings.ts";

/** Exit codes by status and code; where the code alone does not tell, by title below. */
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
  // A model, or its provider, said no: not the caller's key, and no code tells a limit from a wrong key.
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
/** Where the text alone tells what it means. */
const exitsByTitle: Readonly<Record<string, number>> = {
  // The server's own fault, told as a refusal (server §3).
  "older-1.12.1.json: create tag": 1,
  "older-1.12.1.json: list tags: the refused one is there": 1,
  "older-1.12.1.json: list tags after the rename": 1,
  "metadata.json: rename unknown field": 1,
  // Too many at once (server §4).
  "1.15/misc.json: run over the limit of the application, streaming": 7,
};

// The largest upload was recorded without its request.
const refused = exchanges.filter(({ request, response }) => response.status >= 300 && request);

/** The row whose route a recorded path fits. */
function rowFor(method: string, path: string) {
  const bare = path.replace(/^\/v1/, "").replace(/\?.*$/, "");
  return operations.find((row) => {
    const [verb, template] = methodAndPath(row);
    return verb === method && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(bare);
  });
}

test("the recordings hold refusals of every kind", () => {
  expect(refused.length).toBeGreaterThan(120);
});

describe.each(refused.map((exchange) => [exchange.name, exchange] as const))(
  "%s",
  (name, exchange) => {
    const { request, response } = exchange;
    const text = bodyText(exchange);
    const answer = { status: response.status, headers: headersOf(exchange), text };
    const row = rowFor(request.method, request.path);
    const error = refusalOf(answer, {
      method: request.method,
      path: request.path,
      row,
      writes: request.method !== "GET",
    });
    const code = error.refusal.serverCode ?? "";

    test("ends with the exit code of what it means", () => {
      const expected = exitsByTitle[name] ?? exits[`${response.status} ${code}`];
      expect(error.exit).toBe(expected);
    });

    test("is told in plain words, short, with what the server said of the field", () => {
      expect(error.message).toMatch(/\S/);
      expect(error.message).not.toMatch(
        /errors\.pydantic|<html|You have requested this URI|\[type=/,
      );
      expect(error.message.length).toBeLessThan(700);
      expect(error.message).toContain(String(response.status));
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
    "the server gives no reason; with a file this means too large or a kind it does not take (400 invalid_param)",
  ],
  [
    "a message that is no text",
    '{"code":"x","message":["a","b"],"status":400}',
    '["a","b"] (400 x)',
  ],
])("%s is read", (_, text, message) => {
  const answer = { status: 400, headers: { "content-type": "application/json" }, text };
  const error = refusalOf(answer, { method: "POST", path: "/v1/datasets", writes: true });
  expect(error.message).toBe(message);
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
])("%d %s ends with %d", (status, text, exit, retryable) => {
  const error = refusalOf(
    { status, headers: {}, text },
    { method: "POST", path: "/v1/x", writes: true },
  );
  expect(error.exit).toBe(exit);
  expect(error.told.retryable).toBe(retryable);
});

test("fields of a validation text are found, each with its reason", () => {
  const recorded = refused.find(
    ({ name }) => name === "errors.json: name too long and bad technique",
  );
  const said = saidBy({ status: 400, headers: {}, text: recorded ? bodyText(recorded) : "" });
  expect(said.fields).toEqual([
    { field: "name", reason: "String should have at most 40 characters" },
    { field: "indexing_technique", reason: "Input should be 'high_quality' or 'economy'" },
  ]);
});

test("a web page without X-Version is a wrong base URL, with an old one an old server", () => {
  const row = operations.find(({ id }) => id === "streamWorkflowEvents");
  const asked = { method: "GET", path: "/v1/workflow/x/events", row, writes: false };
  const page = { status: 404, text: "<!doctype html><title>404</title>" };
  const wrong = refusalOf({ ...page, headers: { "content-type": "text/html" } }, asked);
  expect(wrong.message).toContain("not the API");
  const old = refusalOf(
    { ...page, headers: { "content-type": "text/html", "x-version": "1.13.2" } },
    asked,
  );
  expect(old.message).toBe("the server is 1.13.2; this needs 1.14.0 or newer (404)");
});

test.each([
  ["1.9.2", "1.14.0", true],
  ["1.14.0", "1.14.0", false],
  ["1.14.0-beta.1", "1.14.0", false],
  ["2.0.0", "1.14.0", false],
])("version %s is older than %s: %s", (a, b, older) => {
  expect(olderThan(a, b)).toBe(older);
});
