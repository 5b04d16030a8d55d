import { expect, test } from "vitest";
import { planChunks } from "../../../src/commands/kb/chunk-lists/index.ts";
import type { ChunkStep, ExistingChunk } from "../../../src/commands/kb/chunk-lists/index.ts";

/**
 * A chunk by a short text, content first: `q=a` has an answer, `p>x,y` child chunks, `c#k` keywords, `c~s` a summary,
 * `c-` is disabled, `c!` in error.
 */
function chunk(text: string, index: number): ExistingChunk {
  const part = (mark: string) => new RegExp(`\\${mark}([^=>#~!-]*)`).exec(text)?.[1] ?? null;
  const words = (given: string | null) => given?.split(",") ?? [];
  const isFailed = text.includes("!");
  return {
    id: `${index + 1}`,
    position: index + 1,
    content: /^[^=>#~!-]*/.exec(text)?.[0] ?? "",
    answer: part("="),
    keywords: words(part("#")),
    enabled: !text.includes("-") && !isFailed,
    status: isFailed ? "error" : "completed",
    error: null,
    isEdited: false,
    summary: part("~"),
    children: words(part(">")).map((content, at) => ({
      id: `${index + 1}.${at + 1}`,
      content,
      type: "automatic",
    })),
    attachments: 0,
  };
}

const chunks = (line: string) => (line === "" ? [] : line.split(" ").map(chunk));

/** `update 1 A`, `append B`, `delete 2`, `update child 1.1 x`. */
const shown = (step: ChunkStep): string =>
  [
    step.action,
    "parent" in step && !("id" in step) ? step.parent : "",
    "id" in step ? step.id : "",
    "to" in step && step.action !== "disable" ? step.to.content : "",
    "content" in step ? step.content : "",
  ]
    .filter((word) => word !== "")
    .join(" ");

const plain = { doc_form: "text_model", summaries: false };
const answers = { doc_form: "qa_model", summaries: false };
const parents = { doc_form: "hierarchical_model", summaries: false };
const summed = { doc_form: "text_model", summaries: true };

test.each<[string, typeof plain, string, string, string[]]>([
  ["the same", plain, "A B", "A B", []],
  ["an edited one", plain, "A X C", "A B C", ["update 2 X"]],
  ["one that is missing", plain, "A B C", "A B", ["append C"]],
  ["one too many at the end", plain, "A B", "A B C", ["delete 3"]],
  ["one too many in between", plain, "A C D", "A B C D", ["delete 2"]],
  [
    "two too many, one of them edited",
    plain,
    "X D",
    "A B C D",
    ["update 1 X", "delete 2", "delete 3"],
  ],
  ["one deleted and one added", plain, "A C D E X", "A B C D E", ["append X", "delete 2"]],
  [
    "two deleted, of which nothing follows",
    plain,
    "A D X Y",
    "A B C D",
    ["update 2 D", "update 3 X", "update 4 Y"],
  ],
  ["another order", plain, "B A", "A B", ["update 1 B", "update 2 A"]],
  ["doubled by a late request", plain, "A B C", "A B C C", ["delete 4"]],
  ["nothing there", plain, "A B", "", ["append A", "append B"]],
  ["nothing stored", plain, "", "A B", ["delete 1", "delete 2"]],
  ["an added one that is disabled, before it is there", plain, "A B-", "A", ["append B"]],
  ["an added one that is disabled, when it is there", plain, "A B-", "A B", ["disable 2"]],
  ["disabled on both sides", plain, "A B-", "A B-", []],
  ["disabled there only", plain, "A B", "A B-", ["update 2 B"]],
  ["disabled and edited", plain, "X-", "A-", ["update 1 X", "disable 1"]],
  ["an empty one cannot be made", plain, "A  B", "A B", []],
  ["one in error cannot be made", plain, "A! B", "A B", ["delete 1"]],
  ["one in error there", plain, "A B", "A! B", ["update 1 A"]],
  ["keywords in another order", plain, "A#x,y", "A#y,x", []],
  ["other keywords", plain, "A#x", "A#y", ["keywords 1 A"]],
  ["a content and keywords", plain, "X#x", "A", ["update 1 X", "keywords 1 X"]],
  ["keywords of a disabled one", plain, "A#x-", "A-", ["update 1 A", "keywords 1 A", "disable 1"]],
  ["keywords that it should not have", plain, "A", "A#y", []],
  ["an answer", answers, "Q=a R=b", "Q=a R=c", ["update 2 R"]],
  ["an answer where the form has none", plain, "Q=a", "Q", []],
  ["child chunks", parents, "P>x,y", "P>x,z", ["update child 1.2 y"]],
  ["a missing child chunk", parents, "P>x,y", "P>x", ["append child 1 y"]],
  [
    "child chunks of a new parent, made by the server",
    parents,
    "P>x",
    "P>a,b",
    ["update child 1.1 x", "delete child 1.2"],
  ],
  ["a deleted child chunk", parents, "P>b", "P>a,b", ["delete child 1.1"]],
  ["no child chunks", parents, "P", "P>a", ["delete child 1.1"]],
  [
    "child chunks of a disabled parent",
    parents,
    "P>x-",
    "P>a-",
    ["update 1 P", "update child 1.1 x", "disable 1"],
  ],
  ["child chunks of a flat form", plain, "P>x", "P>a", []],
  ["a summary", summed, "A~s B~t", "A~s B~u", ["summarize 2 B"]],
  [
    "a summary of a disabled chunk",
    summed,
    "A~s-",
    "A~u-",
    ["update 1 A", "summarize 1 A", "disable 1"],
  ],
  ["a summary where none can be stored", plain, "A~s", "A", []],
  ["a summary that it should not have", summed, "A", "A~s", []],
])("a plan for %s", (_, rules, stored, existing, steps) => {
  expect(planChunks(chunks(stored), chunks(existing), rules).map(shown)).toEqual(steps);
});

test("more chunks to delete than a call takes arguments", () => {
  const last = 200_000;
  const many = Array.from({ length: last + 1 }, (_, at) => chunk(at === last ? "B" : "A", at));
  expect(planChunks(chunks("B"), many, plain)).toHaveLength(last);
});
