/** Pure functions of the sandbox, one line per case. */
import { expect, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { outputText, renderTemplate } from "../../src/sandbox/apps/records/run-events.ts";
import { Faults, parseFault } from "../../src/sandbox/protocol/faults.ts";
import { isoTime } from "../../src/sandbox/apps/runs.ts";
import { pythonRepr, pythonType } from "../../src/sandbox/protocol/validation.ts";
import { jsonResponse } from "../../src/sandbox/protocol/response.ts";
import { atLeast } from "../../src/lib/version.ts";
import { createRouter } from "../../src/sandbox/http/request.ts";
import { countCharacters } from "../../src/lib/text.ts";
import { parseMetadataFilter } from "../../src/sandbox/knowledge/retrieval/retrieve.ts";
import { extractKeywords, tokenize } from "../../src/sandbox/models/words.ts";
import { uniqueNames } from "../../src/sandbox/knowledge/documents.ts";
import {
  createContext,
  type KnowledgeDependencies,
} from "../../src/sandbox/knowledge/records/knowledge-store.ts";
import { openStore } from "../../src/sandbox/storage/sqlite.ts";

test.each([
  ["1.14.2", "1.14.2", true],
  ["1.14.10", "1.14.2", true],
  ["2.0", "1.14.2", true],
  ["1.13.9", "1.14.0", false],
  ["1.14", "1.14.1", false],
])("atLeast(%s, %s) is %s", (version, minimum, expected) => {
  expect(atLeast(version, minimum)).toBe(expected);
});

const ID = "11111111-1111-4111-8111-111111111111";

test.each([
  ["GET", "/datasets", "GET /datasets"],
  ["GET", `/datasets/${ID}`, "GET /datasets/{dataset_id}"],
  ["GET", "/datasets/tags", "GET /datasets/tags"],
  ["GET", `/data%73ets/${ID}`, "GET /datasets/{dataset_id}"],
  ["GET", "/datasets/not-a-uuid", "no such route"],
  ["GET", "/datasets/", "no such route"],
  ["PUT", "/datasets", "other method"],
])("the router finds %s %s: %s", (method, path, expected) => {
  const match = createRouter(operations)(method, path, "1.14.2");
  expect(typeof match === "string" ? match : match.row.route).toBe(expected);
});

test.each([
  [null, "None", "NoneType"],
  [true, "True", "bool"],
  [1, "1", "int"],
  [1.5, "1.5", "float"],
  ["it", "'it'", "str"],
  ["it's", '"it\'s"', "str"],
  ["a\nb", "'a\\nb'", "str"],
  [["a", { b: null }], "['a', {'b': None}]", "list"],
  ["x".repeat(60), `'${"x".repeat(24)}...${"x".repeat(23)}'`, "str"],
])("pythonRepr(%j) is %s of type %s", (value, repr, type) => {
  expect([pythonRepr(value), pythonType(value)]).toEqual([repr, type]);
});

test.each([
  ["2026-11-21", "2026-11-21T00:00:00.000Z"],
  ["2026-11-21T02:00:05+02:00", "2026-11-21T00:00:05.000Z"],
  ["2026-11-21 23:59:59.5Z", "2026-11-21T23:59:59.500Z"],
  ["2026-11-21T24:00", "2026-11-22T00:00:00.000Z"],
])("isoTime(%s) is %s", (text, expected) => {
  expect(new Date(isoTime(text)).toISOString()).toBe(expected);
});

test.each([
  ["26", "invalid literal for int() with base 10: b'26'"],
  ["202611", "ISO time too short"],
  ["2026-13-01", "Unused components in ISO string"],
  ["2026-02-30", "Unused components in ISO string"],
  ["2026-11-21T25:00", "Unused components in ISO string"],
])("isoTime(%s) fails: %s", (text, message) => {
  expect(() => isoTime(text)).toThrow(message);
});

test("jsonResponse writes ASCII with spaces and a newline", () => {
  const { headers, body } = jsonResponse(200, { a: [1, "é"], b: null, c: undefined });
  const text = '{"a": [1, "\\u00e9"], "b": null}\n';
  expect(Buffer.from(body as Uint8Array).toString()).toBe(text);
  expect(headers["Content-Length"]).toBe(String(text.length));
});

test.each([
  ["GET /datasets status=503", "GET", "/v1/datasets", 503],
  ["get /v1/datasets status=503", "GET", "/v1/datasets", 503],
  ["* /datasets/*/documents status=503", "POST", "/v1/datasets/a/b/documents", 503],
  ["* * status=503", "DELETE", "/v1/x", 503],
  ["GET /datasets status=503", "POST", "/v1/datasets", undefined],
  ["GET /datasets status=503", "GET", "/v1/datasets/a", undefined],
])("fault %j on %s %s: status %s", (fault, method, path, expected) => {
  expect(new Faults([parseFault(fault)]).plan(method, path).status).toBe(expected);
});

test("a fault skips requests, and then affects a number of them", () => {
  const faults = new Faults([parseFault("GET * delay=1s skip=1 times=2")]);
  const delays = [1, 2, 3, 4].map(() => faults.plan("GET", "/v1/datasets").delay);
  expect(delays).toEqual([undefined, 1000, 1000, undefined]);
});

test("a fault lasts for a time from the first request that it affects", () => {
  const faults = new Faults([parseFault("POST * status=500 skip=1 for=1m")]);
  const seconds = [0, 600, 659, 660, 700];
  const statuses = seconds.map((s) => faults.plan("POST", "/v1/x", { now: s * 1000 }).status);
  expect(statuses).toEqual([undefined, 500, 500, undefined, undefined]);
});

test("a fault of an application affects and counts no other requests", () => {
  const faults = new Faults([parseFault("* * status=500 times=1 app=good")]);
  const statuses = ["bad", null, "good", "good"].map(
    (app) => faults.plan("GET", "/v1/info", { app }).status,
  );
  expect(statuses).toEqual([undefined, undefined, 500, undefined]);
});

test.each([
  ["* * answer=No%20idea.", "No idea."],
  ["* * answer=1%2B1=2", "1+1=2"],
  ["* * answer=%E9%A1%B9", "项"],
])("fault %j answers %j", (fault, expected) => {
  expect(parseFault(fault).value).toBe(expected);
});

test.each([
  ["", 0],
  ["aé", 2],
  ["a😀", 2],
  ["\ud83d", 1],
])("countCharacters(%j) is %i", (text, expected) => {
  expect(countCharacters(text)).toBe(expected);
});

test.each([
  ["Don't park HERE.", ["don't", "park", "here"]],
  ["ﬁle v1.5", ["file", "v1.5"]],
  ["有給休暇", ["有給", "休暇"]],
  ["?!", []],
])("tokenize(%j) is %j", (text, expected) => {
  expect(tokenize(text)).toEqual(expected);
});

test("extractKeywords lists frequent words first, without stop words", () => {
  expect(extractKeywords("The desk sells permits. The permits are at the desk. Desk!")).toEqual([
    "desk",
    "permits",
    "sells",
    "Desk",
  ]);
});

test.each([
  ["and", false],
  ["or", true],
])("parseMetadataFilter joins conditions with %s", (logical_operator, expected) => {
  const conditions = [
    { name: "team", comparison_operator: "is", value: "People" },
    { name: "level", comparison_operator: ">", value: "1" },
  ];
  const filter = parseMetadataFilter({ logical_operator, conditions });
  expect(filter?.({ team: "People", level: 1 })).toBe(expected);
});

test.each([[undefined], [{}], [{ conditions: [] }]])(
  "parseMetadataFilter(%j) matches every document",
  (conditions) => {
    expect(parseMetadataFilter(conditions)).toBeUndefined();
  },
);

test("uniqueNames keeps the last part of a path and numbers duplicates", () => {
  const names = ["dir/a.md", "a.md", "b\\a.md", " .x ", ""];
  expect(uniqueNames(names)).toEqual(["a.md", "a (1).md", "a (2).md", ".x", "file"]);
});

test.each([
  [null, ""],
  ["a", "a"],
  [["a", 1], "- a\n- 1"],
  [{ a: 1 }, '{\n  "a": 1\n}'],
  [[null, { a: 1 }], "- None\n- {'a': 1}"],
])("outputText(%j) is %j", (value, expected) => {
  expect(outputText(value)).toBe(expected);
});

test("renderTemplate fills variables and keeps the placeholders of inputs", () => {
  const template = "{{#s.query#}} {{#s.none#}}{{#$output.comment#}}";
  expect(renderTemplate(template, { s: { query: "x" } })).toBe("x {{#$output.comment#}}");
});

// What every new document asks for: it must not read all others.
test.each([
  ["id FROM documents WHERE dataset_id IS 'a' AND name IS 'b' AND enabled IS 1", "name=?"],
  ["max(position) FROM documents WHERE dataset_id IS 'a'", "dataset_id_position"],
])("an index answers %s", async (query, expected) => {
  const store = await openStore(null);
  createContext({ store } as KnowledgeDependencies); // creates the tables
  const [plan] = store.all<{ detail: string }>(`EXPLAIN QUERY PLAN SELECT ${query}`);
  expect(plan?.detail).toContain(expected);
});
