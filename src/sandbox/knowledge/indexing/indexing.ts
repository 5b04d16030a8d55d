import { attempt } from "../../../lib/json.ts";
import { countCharacters } from "../../../lib/text.ts";
import { raise, HttpError } from "../../protocol/response.ts";
import {
  ABANDONED,
  type DatasetRow,
  type DocumentRow,
  getDataset,
  type KnowledgeContext,
  type ProcessingStage,
} from "../records/knowledge-store.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import { splitIntoChunks, type TextChunk } from "../../../splitting/split.ts";
import { textsToSplit } from "../../../splitting/upload.ts";
import { knowledgeError } from "../records/responses.ts";
import { UnstorableValue } from "../../storage/sqlite.ts";
import { ModelError } from "../../models/marks.ts";
import { canRun, pipelineChunks } from "../pipelines/pipelines.ts";
import {
  addChildren,
  addSegment,
  embedSegment,
  isHighQuality,
  requireCredentials,
  checkDimensions,
} from "./segments.ts";
import { textParts } from "../records/knowledge-files.ts";

/** The stages of indexing in order, with their starts as a share of the indexing delay. */
const STAGES = [
  ["waiting", 0],
  ["parsing", 0.1],
  ["cleaning", 0.3],
  ["splitting", 0.45],
  ["indexing", 0.6],
] as const satisfies readonly (readonly [ProcessingStage, number])[];

/** The share of the indexing delay after which a document is split. */
const SPLIT = STAGES[4][1];

/**
 * The start of each stage that a document has reached (ms since 1970), null for the others. Documents
 * of pipelines have no stages: they wait until their pipeline has run (server §18).
 */
export function stageStarts(context: KnowledgeContext, document: DocumentRow): (number | null)[] {
  if (document.source) return STAGES.map(() => null);
  const { queued_at, updated_at } = document;
  const start = queued_at === ABANDONED ? updated_at : queued_at;
  const current = STAGES.findIndex(([stage]) => stage === document.indexing_status);
  return STAGES.map(([, share], index) =>
    current === -1 || index <= current ? start + share * context.indexingDelay : null,
  );
}

/** Documents that are due for their next stage; one index lookup per stage. */
const DUE_DOCUMENTS = `WHERE ${STAGES.map(([stage], index) => {
  const next = STAGES[index + 1]?.[1] ?? 1;
  return `(indexing_status = '${stage}' AND queued_at <= ?1 - ${next} * ?2)`;
}).join(" OR ")} ORDER BY queued_at, rowid`;

/**
 * Advances each document to its current stage. Nothing runs between requests: each request first
 * catches up with what a worker would have done, even after a restart.
 */
export function advanceIndexing(context: KnowledgeContext): void {
  const due = context.documents.select(DUE_DOCUMENTS, context.now(), context.indexingDelay);
  for (const document of due) advance(context, document);
  if (!context.model) return;
  for (const document of context.documents.select("WHERE summary_due <= ?", context.now()))
    summarize(context, document);
}

/** ms from the end of indexing until the summaries of a document are made. */
const SUMMARY_DELAY = 1500;

/** Writes the summaries of the chunks; those for which the model fails stay without (server §9.8). */
function summarize({ documents, segments, model }: KnowledgeContext, { id }: DocumentRow): void {
  documents.update({ id }, { summary_due: null });
  for (const segment of segments.list({ document_id: id })) {
    const summary = attempt(() => model?.summary(segment.content)) ?? null;
    segments.update({ id: segment.id }, { summary });
  }
}

interface Job {
  readonly context: KnowledgeContext;
  readonly dataset: DatasetRow;
  readonly document: DocumentRow;
  /** When its stage began or it ended, ms since 1970. */
  readonly time: number;
}

function advance(context: KnowledgeContext, document: DocumentRow): void {
  const { documents, indexingDelay } = context;
  const { id, dataset_id, queued_at, source } = document;
  const dataset = getDataset(context, dataset_id);
  const age = Math.min(context.now() - queued_at, indexingDelay);
  const isDone = age === indexingDelay;
  if (source && !(isDone && canRun(dataset_id, source))) return;
  const stage = STAGES.findLast(([, share]) => age >= share * indexingDelay)?.[0] ?? "waiting";
  const time = queued_at + age;
  const job = { context, dataset, document, time };
  try {
    if (stage === "indexing" && document.indexing_status !== "indexing") {
      splitDocument(job);
    }
    if (isDone) embedDocument(job);
  } catch (thrown) {
    // NUL stays in a parent that is the whole document: only what is split is cleaned.
    const error = thrown instanceof UnstorableValue ? knowledgeError("text with NUL") : thrown;
    if (!(error instanceof HttpError || error instanceof ModelError)) throw error;
    const text = error instanceof ModelError ? error.runText : error.message;
    const failed = { error: text, stopped_at: time, updated_at: time };
    return documents.update({ id }, { indexing_status: "error", ...failed });
  }
  if (isDone) complete(job);
  else documents.update({ id }, { indexing_status: stage });
}

/** Splits the text of a document into stored chunks; throws HttpError with the reason if it cannot. */
function splitDocument(job: Job): void {
  const { context, dataset, document, time } = job;
  const { dataset_id, id: document_id } = document;
  const chunks = chunksOf(job);
  context.segments.delete({ document_id });
  for (const [index, { content, answer = null, children = [] }] of chunks.entries()) {
    const position = index + 1;
    // Recorded: the answers of generated questions are not counted.
    const text = { content, answer, keywords: null, counted: content };
    const segment = { dataset_id, document_id, position, ...text };
    const segment_id = addSegment(context, dataset, segment, time);
    addChildren(context, segment_id, children, time);
  }
  if (document.source) context.segments.update({ document_id }, { indexing_at: 0 });
  const word_count = chunks.reduce((sum, { content }) => sum + countCharacters(content), 0);
  context.documents.update({ id: document_id }, { word_count });
}

/** Queues the available documents of a knowledge base for another embedding of their chunks. */
export function requeueForEmbedding(context: KnowledgeContext, dataset_id: string): void {
  const queued_at = context.now() - SPLIT * context.indexingDelay;
  const indexing = { indexing_status: "indexing", queued_at, completed_at: null } as const;
  context.documents.update({ dataset_id, indexing_status: "completed" }, indexing);
}

/** Embeds the chunks of a knowledge base with the settings that it still has; failures stay unnoticed. */
export function embedAsBefore(context: KnowledgeContext, dataset: DatasetRow): void {
  const time = context.now();
  const completed = { dataset_id: dataset.id, indexing_status: "completed" } as const;
  for (const document of context.documents.list(completed)) {
    attempt(() => embedDocument({ context, dataset, document, time }));
  }
}

/** Embeds the chunks of a document. If the model fails, none of them is enabled (server §9.6). */
function embedDocument({ context, dataset, document: { id }, time }: Job): void {
  if (!isHighQuality(dataset)) return;
  const { segments } = context;
  try {
    requireCredentials(context, dataset);
    checkDimensions(context, dataset);
    for (const segment of segments.list({ document_id: id }))
      embedSegment(context, dataset, segment);
    const indexed = { status: "completed", enabled: true, completed_at: time };
    segments.update({ document_id: id, status: "indexing" }, indexed);
  } catch (error) {
    segments.update({ document_id: id }, UNFINISHED);
    throw error;
  }
}

/** A chunk that is not embedded. */
const UNFINISHED = { status: "indexing", enabled: false, completed_at: null };

/** A chunk of a document; of a question-and-answer document, a question with its answer. */
type DocumentChunk = TextChunk & { readonly answer?: string };

/**
 * The chunks of a document by its form. If the model makes no questions, or the rule of a hierarchical
 * document has no child chunks, there are none, and the document ends as completed (server §9.8).
 */
function chunksOf({ context, dataset, document }: Job): readonly DocumentChunk[] {
  const { model } = context;
  if (document.source) {
    const contents = pipelineChunks(context, document.dataset_id, document.source);
    return contents.map((content) => ({ content }));
  }
  const chunks = splitFile(context, document);
  if (!model || !isHighQuality(dataset)) return chunks;
  if (document.doc_form === "hierarchical_model")
    return chunks.filter(({ children = [] }) => children.length > 0);
  if (document.doc_form !== "qa_model") return chunks;
  const asked = chunks.flatMap(({ content }) => attempt(() => model.questions(content)) ?? []);
  return asked.map(({ question: content, answer }) => ({ content, answer }));
}

function splitFile(
  { files, process_rules, version }: KnowledgeContext,
  { file_id, rule_id }: DocumentRow,
): TextChunk[] {
  const texts = textParts(files.find({ id: file_id }));
  const { rule } = process_rules.find({ id: rule_id }) ?? raise(knowledgeError("rule missing"));
  checkLength(rule);
  return textsToSplit(texts, rule).flatMap((text) => splitIntoChunks(text, rule, version));
}

/** Throws 400 for chunks that are too short or too long; the server checks this when it splits (server §6.2). */
function checkLength({ mode, rules }: ProcessRule): void {
  const { max_tokens } = rules.segmentation;
  if (mode === "automatic" || rules.parent_mode === "full-doc") return;
  if (max_tokens < 50 || max_tokens > 4000) throw knowledgeError("chunk length invalid");
}

function complete({ context, dataset, document, time }: Job): void {
  const { store, documents, segments } = context;
  const { id: document_id } = document;
  const embeds = isHighQuality(dataset);
  const sql = "SELECT ifnull(sum(tokens), 0) AS tokens FROM segments WHERE document_id = ?";
  const counted = store.get<{ readonly tokens: number }>(sql, document_id);
  const summarizes = embeds && dataset.summary_index_setting?.enable === true;
  const summaries = summarizes ? { need_summary: 1, summary_due: time + SUMMARY_DELAY } : {};
  const ended = {
    indexing_status: "completed",
    error: null,
    tokens: document.source ? null : (counted?.tokens ?? 0), // a pipeline leaves them uncounted
    stopped_at: null,
    completed_at: time,
    updated_at: time,
    ...summaries,
  } as const;
  documents.update({ id: document_id }, ended);
  if (document.doc_form !== "hierarchical_model" || embeds) return;
  // Without an embedding model, the chunks of a hierarchical document are never completed: the
  // document is available, but searches do not find it.
  segments.update({ document_id }, { ...UNFINISHED, keywords: null });
}
