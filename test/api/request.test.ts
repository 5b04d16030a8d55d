import { expect, test } from "vitest";
import { requestFor } from "../../src/api/request.ts";
import {
  createKnowledgeBase,
  deleteKnowledgeBase,
  listKnowledgeBases,
} from "../../src/operations/knowledge.ts";

const base = "http://127.0.0.1/v1";

test("the request of a list has a query, with what is sent by default, and no body", () => {
  expect(
    requestFor(listKnowledgeBases, { keyword: "a b" }, base, { paging: { page: "2" } }),
  ).toEqual({
    method: "GET",
    url: `${base}/datasets?keyword=a+b&include_all=true&page=2`,
    headers: {},
  });
});

test("the request of a delete has no body", () => {
  expect(requestFor(deleteKnowledgeBase, { dataset_id: "a/b" }, base, {})).toEqual({
    method: "DELETE",
    url: `${base}/datasets/a%2Fb`,
    headers: {},
  });
});

test("the request of a write has its values and those of --body as JSON", () => {
  const extra = { new_field: 1 };
  expect(requestFor(createKnowledgeBase, { name: "A" }, base, { extra })).toEqual({
    method: "POST",
    url: `${base}/datasets`,
    headers: { "content-type": "application/json" },
    body: { kind: "json", text: '{"name":"A","new_field":1}' },
  });
});
