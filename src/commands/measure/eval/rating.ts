import { requireField } from "../../../api/response.ts";
import { notFound, refused } from "../../../errors.ts";
import { firstNames, unicodeForm, withSlashes } from "../../../lib/text.ts";
import type { Document } from "../../../operations/documents.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { countedDocuments, storedValues, syncFields } from "../../kb/documents/index.ts";
import { firstRank, metricsOf } from "../../../lib/statistics/ranking-metrics.ts";
import type { Ranking } from "../../../lib/statistics/ranking-metrics.ts";
import type { Quotation, Question } from "./questions.ts";

/** A document that a question expects. */
export interface ExpectedDocument {
  readonly written: string;
  /** Undefined if it is not in the knowledge base; then its name is compared. */
  readonly id: string | undefined;
  readonly name?: string | undefined;
}

interface Place {
  readonly dataset_id: string;
  /** The file of the questions, for messages. */
  readonly file: string;
  readonly allowMissing: boolean;
  /** A metadata field whose values name documents, too. */
  readonly field?: string | undefined;
}

/** Resolves documents by ID, name or path. Throws not-found unless missing ones are allowed, refused if ambiguous. */
export async function resolveExpected(
  questions: readonly Question[],
  { dataset_id, file, allowMissing, field }: Place,
  context: Context,
): Promise<(written: string) => ExpectedDocument> {
  const lines = new Map<string, number>();
  for (const { documents, passages, line } of questions) {
    const names = [...documents, ...passages.flatMap(({ document }) => document ?? [])];
    for (const name of names) if (!lines.has(name)) lines.set(name, line);
  }
  const known = new Map<string, Document[]>();
  const byStem = new Map<string, Document[]>();
  const add = (names: Map<string, Document[]>, name: string, document: Document) => {
    if (lines.has(name)) names.set(name, [...(names.get(name) ?? []), document]);
  };
  for await (const document of lines.size > 0 ? countedDocuments(dataset_id, context) : []) {
    for (const name of namesOf(document, field)) add(known, name, document);
    add(byStem, stemOf(document.name), document);
  }
  const resolve = (name: string) => known.get(name) ?? byStem.get(name) ?? [];
  const missing = [...lines].filter(([name]) => resolve(name).length === 0);
  if (missing.length > 0) {
    const listed = missing.map(([name, line]) => `${JSON.stringify(name)} (line ${line})`);
    const message = `expected documents of ${file} not found: ${firstNames(listed, MAX_NAMES)}`;
    if (!allowMissing) {
      throw notFound(message, "fix the file, or add --allow-missing to count them as not found", {
        details: { missing: missing.map(([document, line]) => ({ document, line })) },
      });
    }
    await context.notice(message);
  }
  for (const [name, line] of lines) {
    const candidates = resolve(name).map(({ id, name: title, display_status }) => ({
      id,
      name: title,
      display_status,
    }));
    if (candidates.length > 1)
      throw refused(
        `${file} line ${line}: ${candidates.length} documents have the name ${JSON.stringify(name)}`,
        "use the document ID instead",
        { code: "ambiguous", details: { candidates } },
      );
    const [{ name: title = "", display_status = null } = {}] = candidates;
    if ((display_status ?? "available") !== "available")
      await context.notice(
        `document ${JSON.stringify(title)} is ${display_status}; no search finds it`,
      );
  }
  return (written) => {
    const [document] = resolve(written);
    return { written, id: document?.id, name: document?.name };
  };
}

/** The same documents elsewhere, where they have other IDs. */
export const byName =
  (expected: RatingRules["expected"]): RatingRules["expected"] =>
  (written) => ({ written: expected(written).name ?? written, id: undefined });

/** Limit for the names in an error. */
const MAX_NAMES = 10;

/** The texts that identify a document. Names of uploaded files have `∕` (U+2215) for `/`. */
function namesOf(
  { id, name, doc_metadata }: Document,
  field: string | undefined,
): ReadonlySet<string> {
  const values = storedValues(doc_metadata);
  const further = [syncFields.path, ...(field === undefined ? [] : [field])].flatMap(
    (each) => values[each] ?? [],
  );
  return new Set([id, name, withSlashes(name), ...further.map(String)]);
}

/** A name without its ending: `d7` of `d7.md`, as judgements of a collection name documents. */
export const stemOf = (name: string): string => name.replace(/\.[^./]+$/, "");

/** How answers are rated. */
export interface RatingRules {
  readonly expected: (written: string) => ExpectedDocument;
  /** Numbers of top documents to measure. */
  readonly ks: readonly number[];
  /** The least grade that is relevant. */
  readonly threshold: number;
}

/** A document, or a chunk where passages are judged, at its rank. */
interface RankedItem {
  readonly id: string;
  readonly name: string;
  readonly score: number;
  readonly chunks: string[];
  grade: number | null;
}

/** Compares the records of a search with what the question expects. */
export function rateRecords(
  question: Question,
  records: readonly SearchRecord[],
  { expected, ks, threshold }: RatingRules,
) {
  const { documents, texts, passages, grades: written } = question;
  const ranked = passages.length > 0 ? records.map(itemOf) : rankDocuments(records);
  const judged: number[] = [];
  const places: number[] = [];
  const missing: string[] = [];
  const late: { readonly expected: string; readonly rank: number }[] = [];
  const judge = (label: string, grade: number, items: readonly RankedItem[]) => {
    const [best, ...others] = items;
    const rank = best ? ranked.indexOf(best) + 1 : Infinity;
    if (grade >= threshold) {
      places.push(rank);
      if (!best) missing.push(label);
      else if (rank > question.maxRank) late.push({ expected: label, rank });
    }
    // What holds several has one rank, with the best of their grades.
    if (best?.grade) judged.splice(judged.indexOf(best.grade), 1);
    const own = Math.max(best?.grade ?? 0, grade);
    judged.push(own);
    if (best) best.grade = own;
    // Found before: it adds nothing.
    for (const other of others) other.grade ??= 0;
  };
  const seen = new Set<string>();
  for (const document of documents.map(expected)) {
    // The same document can be expected by name, path and ID.
    const key = document.id ?? document.written;
    if (seen.has(key)) continue;
    seen.add(key);
    const found = ranked.filter((item) => isDocument(item, document));
    judge(document.written, written.get(document.written) ?? 1, found.slice(0, 1));
  }
  for (const passage of passages) {
    const document = passage.document === undefined ? undefined : expected(passage.document);
    const found = ranked.filter(
      (item) => (!document || isDocument(item, document)) && covers(item, passage),
    );
    judge(passage.text, passage.grade, found);
  }
  for (const text of texts) {
    const containing = ranked.filter(({ chunks }) =>
      chunks.some((chunk) => chunk.includes(normalized(text))),
    );
    // A text counts for one document: an expected one that contains it, or else the first that does.
    if (!containing.some(({ grade }) => grade !== null && grade >= threshold))
      judge(text, Math.max(1, threshold), containing.slice(0, 1));
  }
  const ranking: Ranking = { grades: ranked.map(({ grade }) => grade), judged, places, threshold };
  return {
    /** Rank of the first that is relevant, from 1. */
    rank: firstRank(ranking),
    /** Documents, ranked by their first chunks; chunks where passages are judged. */
    found: ranked.map(({ name, id, score, grade }, index) => ({
      rank: index + 1,
      document: name,
      id,
      score,
      relevant: grade !== null && grade >= threshold,
    })),
    /** Expected documents and texts that were not found. */
    missing,
    /** Those that were found below the `max_rank` of the question. */
    late,
    figures: question.hasAnswer
      ? metricsOf(ranking, ks)
      : ({ rejected: records.length === 0 ? 1 : 0 } as Record<string, number>),
    characters: records.reduce((sum, record) => sum + searchedText(record).length, 0),
  };
}

function itemOf(record: SearchRecord): RankedItem {
  const { document, document_id } = record.segment;
  const id = requireField(document?.id ?? document_id, "segment.document_id");
  const { score } = record;
  return { id, name: document?.name ?? id, score, chunks: [chunkText(record)], grade: null };
}

/** Documents in the order of their first chunks. */
function rankDocuments(records: readonly SearchRecord[]): RankedItem[] {
  const ranked = new Map<string, RankedItem>();
  for (const item of records.map(itemOf)) {
    const first = ranked.get(item.id);
    if (first) first.chunks.push(...item.chunks);
    else ranked.set(item.id, item);
  }
  return [...ranked.values()];
}

const isDocument = (item: RankedItem, { id, written }: ExpectedDocument): boolean =>
  id === undefined ? item.name === written : item.id === id;

/** Does a chunk hold half of the passage in one piece? Then it is found, however it was split. */
function covers({ chunks }: RankedItem, passage: Quotation): boolean {
  const text = normalized(passage.text);
  const half = Math.ceil(text.length / 2);
  return chunks.some((chunk) => {
    for (let start = 0; start + half <= text.length; start++)
      if (chunk.includes(text.slice(start, start + half))) return true;
    return false;
  });
}

/** What an application puts before its model. */
export const searchedText = ({ segment: { content, answer } }: SearchRecord): string =>
  [content, answer].filter(Boolean).join("\n");

/** All text of a chunk that readers of the result see. */
const chunkText = (record: SearchRecord): string =>
  normalized(
    [searchedText(record), ...record.child_chunks.map(({ content }) => content)].join("\n"),
  );

/** Ignores differences of white space, which indexing changes, and of Unicode form. */
const normalized = (text: string): string => unicodeForm(text, "NFC").replace(/\s+/g, " ");
