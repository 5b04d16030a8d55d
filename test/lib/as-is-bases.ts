import type { TestSandbox } from "./sandbox.ts";

const paragraphs = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `Rule ${at + 1} is about subject${at + 1}. It holds since year${at + 1}.`,
  ).join("\n\n");

const segmentation = { separator: "\n\n", max_tokens: 80, chunk_overlap: 0 };
const flat = { mode: "custom", rules: { pre_processing_rules: [], segmentation } };
const nested = (parent_mode: string) => ({
  mode: "hierarchical",
  rules: {
    ...flat.rules,
    parent_mode,
    subchunk_segmentation: { separator: ". ", max_tokens: 60, chunk_overlap: 0 },
  },
});
const summary_index_setting =
  '{"enable":true,"model_name":"stub-chat","model_provider_name":"langgenius/stub/stub"}';

/** A knowledge base of each form: its name, how it is made, and the rule and the form of its documents. */
export const formsOfChunks = [
  ["economy", ["--indexing-technique", "economy"], flat, "text_model"],
  ["vectors", ["--indexing-technique", "high_quality"], flat, "text_model"],
  [
    "summaries",
    ["--indexing-technique", "high_quality", "--summary-index-setting", summary_index_setting],
    flat,
    "text_model",
  ],
  ["questions", ["--indexing-technique", "high_quality"], flat, "qa_model"],
  ["parents", ["--indexing-technique", "high_quality"], nested("paragraph"), "hierarchical_model"],
  ["whole", ["--indexing-technique", "high_quality"], nested("full-doc"), "hierarchical_model"],
] as const;
type Form = (typeof formsOfChunks)[number];

interface Listed {
  readonly id: string;
  readonly content: string;
}

/**
 * Creates a knowledge base with three documents. In one, chunks are edited, disabled, added, deleted and summarized
 * by hand; one is disabled, one archived.
 */
export async function handEditedBase(
  { done }: TestSandbox,
  name: string,
  [form, how, rule, doc_form]: Form,
  count = 6,
): Promise<void> {
  const kb = (...argv: string[]) => done(["kb", ...argv]);
  await kb("create", name, ...how);
  for (const document of ["edited.md", "disabled.md", "archived.md"]) {
    const text = ["--text", `${document}\n\n${paragraphs(count)}`];
    const split = ["--doc-form", doc_form, "--process-rule", JSON.stringify(rule)];
    await kb("doc", "add", name, document, ...text, ...split);
  }
  await kb("doc", "wait", name);
  const chunks = async () =>
    JSON.parse(
      (await kb("chunk", "list", name, "edited.md", "-o", "json", "--all")).out,
    ) as Listed[];
  const answer = doc_form === "qa_model" ? ["--answer", "By hand."] : [];
  const change = (id: string, ...flags: string[]) =>
    kb("chunk", "update", name, "edited.md", id, ...flags, ...answer);
  const [first, second, third] = await chunks();
  await change(first?.id ?? "", "--content", "=1+1 is a formula — edited", "--keyword", "hand");
  if (second) await kb("chunk", "delete", name, "edited.md", second.id, "--yes");
  if (third) await change(third.id, "--content", third.content, "--no-enabled");
  for (const content of ['Added, with "quotes",\nin two lines.', "Added and disabled. By hand."])
    await kb("chunk", "add", name, "edited.md", "--content", content, ...answer);
  const added = (await chunks()).at(-1);
  await change(added?.id ?? "", "--content", added?.content ?? "", "--no-enabled");
  if (form === "summaries") await change(first?.id ?? "", "--summary", "A summary by hand");
  if (doc_form === "hierarchical_model") {
    const place = [name, "edited.md", first?.id ?? ""];
    const [child, last] = JSON.parse(
      (await kb("chunk", "child", "list", ...place, "-o", "json", "--all")).out,
    ) as Listed[];
    await kb("chunk", "child", "update", ...place, child?.id ?? "", "--content", "An edited child");
    if (last) await kb("chunk", "child", "delete", ...place, last.id, "--yes");
    await kb("chunk", "child", "add", ...place, "--content", "An added child");
  }
  await kb("doc", "disable", name, "disabled.md");
  await kb("doc", "archive", name, "archived.md");
}
