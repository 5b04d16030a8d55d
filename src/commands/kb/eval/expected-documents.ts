import { withSlashes } from "../../../lib/text.ts";
import { notFound, refused } from "../../../errors.ts";
import type { Document } from "../../../operations/documents.ts";
import { countedDocuments, storedValues, syncFields } from "../documents/index.ts";
import type { Question } from "./questions.ts";
import type { Context } from "../../task/command-spec.ts";

/** A document that a question expects. */
export interface ExpectedDocument {
  /** As written in the question. */
  readonly written: string;
  /** Undefined if it is not in the knowledge base; then its name is compared. */
  readonly id: string | undefined;
  /** Its name there. */
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

/**
 * Resolves the documents that questions expect, by ID, name or path. Throws not-found with the missing
 * ones, unless they are allowed, and refused for an ambiguous name.
 */
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
  if (lines.size > 0) {
    const add = (names: Map<string, Document[]>, name: string, document: Document) => {
      if (lines.has(name)) names.set(name, [...(names.get(name) ?? []), document]);
    };
    for await (const document of countedDocuments(dataset_id, context)) {
      for (const name of namesOf(document, field)) add(known, name, document);
      add(byStem, stemOf(document.name), document);
    }
  }
  for (const [stem, documents] of byStem) if (!known.has(stem)) known.set(stem, documents);
  const missing = [...lines].filter(([name]) => !known.has(name));
  if (missing.length > 0) {
    const listed = missing
      .slice(0, MAX_NAMES)
      .map(([name, line]) => `${JSON.stringify(name)} (line ${line})`);
    const more = missing.length > MAX_NAMES ? ` and ${missing.length - MAX_NAMES} more` : "";
    const message = `expected documents of ${file} not found: ${listed.join(", ")}${more}`;
    if (!allowMissing) {
      throw notFound(message, "fix the file, or add --allow-missing to count them as not found", {
        details: { missing: missing.map(([document, line]) => ({ document, line })) },
      });
    }
    await context.notice(message);
  }
  for (const [name, [first, ...others]] of known) {
    if (first && others.length > 0) {
      const candidates = [first, ...others].map(({ id, name: title, display_status }) => ({
        id,
        name: title,
        display_status,
      }));
      throw refused(
        `${file} line ${lines.get(name)}: ${candidates.length} documents have the name ${JSON.stringify(name)}`,
        "use the document ID instead",
        { code: "ambiguous", details: { candidates } },
      );
    }
    if (first && (first.display_status ?? "available") !== "available") {
      await context.notice(
        `document ${JSON.stringify(first.name)} is ${first.display_status}; no search finds it`,
      );
    }
  }
  return (written) => {
    const [document] = known.get(written) ?? [];
    return { written, id: document?.id, name: document?.name };
  };
}

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
