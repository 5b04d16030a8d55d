import { expect, test } from "vitest";
import { planSettings } from "../../../src/commands/kb/changes/index.ts";
import type { CurrentState } from "../../../src/commands/kb/changes/index.ts";
import type { KbFile } from "../../../src/commands/kb/declarative/file.ts";
import { desiredState } from "../../../src/commands/kb/declarative/apply.ts";

const current: CurrentState = {
  settings: {
    name: "Handbook",
    description: "Rules",
    permission: "only_me",
    indexing_technique: "economy",
    doc_form: "text_model",
    embedding_model: null,
    retrieval_model: { search_method: "keyword_search", top_k: 2, weights: null },
    summary_index_setting: null,
  },
  tags: ["draft"],
  fields: [{ name: "team", type: "string" }],
  built_in_fields: false,
};

/** Changes as `action what name: from → to (note)`. */
const plan = (file: Omit<KbFile, "knowledge_base">, state: CurrentState = current) =>
  planSettings(desiredState({ knowledge_base: "Handbook", ...file }), state).map(
    ({ action, what, name, from, to, note }) =>
      `${action} ${what} ${name}: ${JSON.stringify(from)} → ${JSON.stringify(to)}${note === null ? "" : ` (${note})`}`,
  );

const again = "indexes every document again";
const fixed =
  "the type of a field cannot change: delete the field and its values, or keep the type";

test.each<[Omit<KbFile, "knowledge_base">, readonly string[]]>([
  [{}, []],
  [{ description: "Rules", permission: "only_me" }, []],
  [{ description: "New" }, ['change setting description: "Rules" → "New"']],
  [{ description: "" }, ['change setting description: "Rules" → ""']],
  [
    { indexing_technique: "high_quality" },
    [`change setting indexing_technique: "economy" → "high_quality" (${again})`],
  ],
  [{ embedding_model: "p/m" }, [`change setting embedding_model: null → "p/m" (${again})`]],
  [{ retrieval_model: { top_k: 2 } }, []],
  [{ retrieval_model: { top_k: 5 } }, ["change setting retrieval_model.top_k: 2 → 5"]],
  [{ retrieval_model: { score_threshold: null } }, []],
  [{ tags: ["draft", "draft"] }, []],
  [{ tags: ["people"] }, ["bind tag people: null → null", "unbind tag draft: null → null"]],
  [{ tags: [] }, ["unbind tag draft: null → null"]],
  [{ metadata: { team: "string" } }, []],
  [{ metadata: { pages: "number" } }, ['create field pages: null → "number"']],
  [{ metadata: { team: "number" } }, [`change field team: "string" → "number" (${fixed})`]],
  [{ built_in_fields: false }, []],
  [{ built_in_fields: true }, ["switch built-in fields built_in_fields: false → true"]],
])("planSettings: %j", (file, steps) => expect(plan(file)).toEqual(steps));

test("planSettings: a knowledge base that does not exist", () => {
  const file: KbFile = {
    knowledge_base: "Handbook",
    indexing_technique: "economy",
    retrieval_model: { top_k: 3 },
    tags: ["people"],
  };
  expect(
    planSettings(desiredState(file), undefined).map(({ action, name }) => `${action} ${name}`),
  ).toEqual([
    "create Handbook",
    "create indexing_technique",
    "create retrieval_model.top_k",
    "bind people",
  ]);
});
