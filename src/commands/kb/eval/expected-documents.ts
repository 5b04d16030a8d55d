import { CliError } from "../../../errors.ts";
import { listDocuments } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Question } from "./questions.ts";
import { asShown } from "../documents/field-values.ts";
import type { Context } from "../../command-spec.ts";

/** Metadata field in which a directory that is kept in step notes a document's path. */
const pathField = "kb_path";

/** A document that a question expects. */
export interface ExpectedDocument {
  /** As it was written. */
  readonly written: string;
  /** Undefined where the knowledge base has none of that name; then the name is compared. */
  readonly id: string | undefined;
}

/**
 * Finds the documents that questions expect, by id, name or path. Throws not-found that names those
 * that are not there, unless that is allowed, and refused where several have one name.
 */
export async function expectedDocuments(
  dataset_id: string,
  file: string,
  questions: readonly Question[],
  allowMissing: boolean,
  context: Context,
): Promise<(written: string) => ExpectedDocument> {
  const lines = new Map<string, number>();
  for (const { documents: names, line } of questions) {
    for (const name of names) if (!lines.has(name)) lines.set(name, line);
  }
  const known = new Map<string, Document[]>();
  if (lines.size > 0) {
    for await (const document of context.each(listDocuments, { dataset_id })) {
      for (const name of namesOf(document)) {
        if (lines.has(name)) known.set(name, [...(known.get(name) ?? []), document]);
      }
    }
  }
  const missing = [...lines].filter(([name]) => !known.has(name));
  if (missing.length > 0) {
    const info = missing.map(([name, line]) => `${JSON.stringify(name)} (line ${line})`);
    const some = info.length > mostTold ? ` and ${info.length - mostTold} more` : "";
    const text = `${file} expects documents that the knowledge base does not hold: ${info.slice(0, mostTold).join(", ")}${some}`;
    if (!allowMissing) {
      throw new CliError("not-found", text, {
        sideEffect: "none",
        details: { missing: missing.map(([document, line]) => ({ document, line })) },
        hint: "correct the file, or count them as not found: --allow-missing",
      });
    }
    await context.notice(text);
  }
  for (const [name, [first, ...others]] of known) {
    if (first && others.length > 0) throw ambiguous(file, name, lines, [first, ...others]);
    if (first && (first.display_status ?? "available") !== "available") {
      await context.notice(
        `no search finds ${JSON.stringify(first.name)}: it is ${first.display_status}`,
      );
    }
  }
  return (written) => ({ written, id: known.get(written)?.[0]?.id });
}

/** Names that an error lists at most. */
const mostTold = 10;

/**
 * What a document may be called: an uploaded file has no `/` in its name, so a path is written with
 * another sign in its place.
 */
function namesOf({ id, name, doc_metadata }: Document): ReadonlySet<string> {
  const path = asShown(doc_metadata)[pathField];
  return new Set([
    id,
    name,
    name.replaceAll("∕", "/"),
    ...(typeof path === "string" ? [path] : []),
  ]);
}

function ambiguous(
  file: string,
  name: string,
  lines: ReadonlyMap<string, number>,
  found: readonly Document[],
): CliError {
  return new CliError(
    "refused",
    `${file} line ${lines.get(name)}: ${found.length} documents are called ${JSON.stringify(name)}`,
    {
      code: "ambiguous",
      sideEffect: "none",
      details: {
        candidates: found.map((each) => ({
          id: each.id,
          name: each.name,
          display_status: each.display_status,
        })),
      },
      hint: "use the id of the one you mean",
    },
  );
}
