import { requireField } from "../../../api/response.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { ExpectedDocument } from "./expected-documents.ts";
import { firstRank, metricsOf } from "./metrics.ts";
import type { Ranking } from "./metrics.ts";
import type { Quotation, Question } from "./questions.ts";

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
  /** Texts of its chunks. */
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
  const judge = (label: string, grade: number, items: readonly RankedItem[]) => {
    const [best, ...others] = items;
    if (!best && grade >= threshold) missing.push(label);
    if (grade >= threshold) places.push(best ? ranked.indexOf(best) + 1 : Infinity);
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
    figures: question.hasAnswer
      ? metricsOf(ranking, ks)
      : ({ rejected: records.length === 0 ? 1 : 0 } as Record<string, number>),
    characters: records.reduce((sum, record) => sum + contentOf(record).length, 0),
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
const contentOf = ({ segment: { content, answer } }: SearchRecord): string =>
  [content, answer].filter(Boolean).join("\n");

/** All text of a chunk that readers of the result see. */
const chunkText = (record: SearchRecord): string =>
  normalized([contentOf(record), ...record.child_chunks.map(({ content }) => content)].join("\n"));

/** Ignores differences of white space, which indexing changes, and of Unicode form. */
const normalized = (text: string): string => text.normalize("NFC").replace(/\s+/g, " ");
