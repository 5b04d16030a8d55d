import type { SimulatedServer } from "./server.ts";

/** Forms of documents with chunks of their own kind. */
export const forms = ["text_model", "qa_model", "hierarchical_model"] as const;
export type Form = (typeof forms)[number];

interface Page<T> {
  readonly data: readonly T[];
}

interface Segment {
  readonly id: string;
  readonly content: string;
  readonly answer: string | null;
  readonly keywords: readonly string[] | null;
  readonly enabled: boolean;
}

const segmentation = { separator: "\n\n", max_tokens: 60, chunk_overlap: 0 };
const rules = { pre_processing_rules: [], segmentation };
const nested = {
  parent_mode: "paragraph",
  subchunk_segmentation: { separator: ". ", max_tokens: 50, chunk_overlap: 0 },
};

/** Creates a knowledge base with an embedding model; returns its ID. */
export async function createVectorKb(server: SimulatedServer, name: string): Promise<string> {
  const body = { name, indexing_technique: "high_quality" };
  return (await server.call<{ id: string }>("POST", "/v1/datasets", body)).id;
}

/** Adds a text of some paragraphs, each of which becomes a chunk; returns the ID of the document. */
export async function addParagraphs(
  server: SimulatedServer,
  kb: string,
  { name, form, count }: { readonly name: string; readonly form: Form; readonly count: number },
): Promise<string> {
  const paragraphs = Array.from(
    { length: count },
    (_, at) => `${name} says ${at}. It has a second sentence.`,
  );
  const isNested = form === "hierarchical_model";
  const body = {
    name,
    text: paragraphs.join("\n\n"),
    indexing_technique: "high_quality",
    doc_form: form,
    process_rule: isNested
      ? { mode: "hierarchical", rules: { ...rules, ...nested } }
      : { mode: "custom", rules },
  };
  const path = `/v1/datasets/${kb}/document/create-by-text`;
  return (await server.call<{ document: { id: string } }>("POST", path, body)).document.id;
}

/** Changes the chunks of a document as somebody does by hand: `kind` says how. */
export async function editChunks(
  server: SimulatedServer,
  place: string,
  kind: string,
  words: string,
): Promise<void> {
  const { data } = await server.call<Page<Segment>>("GET", `${place}/segments?limit=100`);
  const chunk = data[Math.floor(data.length / 2)];
  if (!chunk) return;
  const { answer } = chunk;
  const text = answer === null ? {} : { answer: `${words}!` };
  const change = (segment: object) =>
    server.call("POST", `${place}/segments/${chunk.id}`, { segment: { ...text, ...segment } });
  if (kind === "edit") {
    await change({ content: words });
    // Beside a content that changes, the server ignores them (server §9.7).
    await change({ content: words, keywords: ["by", "hand"] });
  }
  if (kind === "disable") await change({ content: chunk.content, enabled: false });
  if (kind === "delete") await server.call("DELETE", `${place}/segments/${chunk.id}`);
  if (kind === "add")
    await server.call("POST", `${place}/segments`, { segments: [{ content: words, ...text }] });
  if (kind === "child") {
    const children = `${place}/segments/${chunk.id}/child_chunks`;
    const { data: listed } = await server.call<Page<{ id: string }>>("GET", children);
    const [first] = listed;
    if (first) await server.call("DELETE", `${children}/${first.id}`);
    await server.call("POST", children, { content: words });
  }
}

/** The chunks of all documents of a knowledge base, without what differs in each. */
export async function chunksOf(server: SimulatedServer, kb: string): Promise<unknown> {
  const documents = `/v1/datasets/${kb}/documents`;
  const { data } = await server.call<
    Page<{ id: string; name: string; enabled: boolean; doc_form: Form }>
  >("GET", `${documents}?limit=100`);
  const found: [string, unknown][] = [];
  for (const { id, name, enabled, doc_form } of data) {
    const { data: segments } = await server.call<Page<Segment>>(
      "GET",
      `${documents}/${id}/segments?limit=100`,
    );
    const chunks: unknown[] = [];
    for (const segment of segments) {
      const children =
        doc_form === "hierarchical_model"
          ? await server.call<Page<{ content: string }>>(
              "GET",
              `${documents}/${id}/segments/${segment.id}/child_chunks?limit=100`,
            )
          : { data: [] };
      chunks.push({
        content: segment.content,
        answer: segment.answer,
        keywords: [...(segment.keywords ?? [])].sort(),
        enabled: segment.enabled,
        children: children.data.map((child) => child.content),
      });
    }
    found.push([name, { enabled, chunks }]);
  }
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}
