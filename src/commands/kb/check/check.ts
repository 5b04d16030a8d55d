import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { newCounter, requireComplete } from "../../../api/pages.ts";
import { CliError, isFatal } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted } from "../../../lib/text.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { listDocuments } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { evaluateGate, failedGate, parseGate } from "../../conditions/index.ts";
import { indexingStatusOf, isDone, readContents } from "../documents/index.ts";
import { requestedKbs } from "../knowledge/index.ts";
import type { checkParams } from "./command.ts";
import { contentFindings, findingOf, listFindings, pathFindings, unindexed } from "./findings.ts";
import type { CheckedKb, Finding, Seen } from "./findings.ts";
import { problemScope, countProblems } from "./figures.ts";
import type { Problem } from "./figures.ts";
import { kbFindings } from "./settings.ts";

/** Age in ms from which an unfinished document is stuck, by default. */
const defaultStuckAge = 3_600_000;

type CheckInput = Input<typeof checkParams>;

/**
 * Lists the problems of knowledge bases. Of each document it keeps its name and a hash, nothing else. Throws
 * gate if a condition of --fail-if holds.
 */
export async function* run(input: CheckInput, context: Context): AsyncGenerator<Finding> {
  const gate = parseGate(input.fail_if ?? [], problemScope);
  const problems: Problem[] = [];
  let checked = 0;
  for await (const { id, name } of requestedKbs({ command: "kb check" }, input, context)) {
    checked++;
    const kb = { id, name, line: lineFor(context) };
    try {
      for await (const finding of checkKb(kb, input, context)) {
        problems.push(finding.problem);
        yield finding;
      }
    } catch (error) {
      if (!input.all && error instanceof CliError && error.kind === "not-found") throw error;
      problems.push("not checked");
      yield unchecked(kb, messageOf(error), "kb show");
    }
  }
  const figures = countProblems(problems);
  const others = figures.unchecked > 0 ? `; not checked: ${figures.unchecked}` : "";
  context.summary(
    `${counted(checked, "knowledge base")}: ${counted(figures.problems, "problem")}${others}`,
  );
  const failed = failedGate(evaluateGate(gate, problemScope, [{ subject: figures }]));
  if (failed) throw failed;
}

/** Makes command lines for the server of this line; rows are data, so nothing adds it to them later. */
const lineFor =
  ({ options: { flags } }: Context): CheckedKb["line"] =>
  (command, args, own = {}) =>
    commandLine(command, args, {
      ...own,
      p: flags.profile,
      "base-url": flags.baseUrl,
    }).slice(1, -1);

async function* checkKb(
  given: CheckedKb,
  input: CheckInput,
  context: Context,
): AsyncGenerator<Finding> {
  const { kb, findings, skips } = await kbFindings(given, context);
  yield* findings;
  if (skips) return;
  const seen: Seen = { contents: new Map(), paths: new Map() };
  const limits = {
    stuckAfter: input.stuck_after ?? defaultStuckAge,
    now: context.host.now().getTime(),
  };
  const counter = newCounter();
  const pages = context.api.pages(listDocuments, { dataset_id: kb.id }, { counter });
  for await (const page of pages) {
    const { shown: done, total } = counter;
    context.progress({ verb: "Checking", done, total, unit: "documents" });
    for (const document of page) {
      yield* listFindings(kb, document, limits);
      yield* pathFindings(kb, document, seen);
    }
    if (!input.no_chunks) yield* checkChunks(kb, page, context);
    if (!input.no_content) yield* checkContents(kb, page, seen, context);
  }
  requireComplete(counter);
  if (input.no_chunks) yield unchecked(kb, "chunks (--no-chunks)");
  if (input.no_content) yield unchecked(kb, "duplicates and sync marks (--no-content)");
}

/** What of a knowledge base was not checked, and why. */
const unchecked = (kb: CheckedKb, what: string, command = "kb check"): Finding =>
  findingOf("not checked", kb, kb, { note: what, repair: kb.line(command, [kb.id]) });

/** Why something is not checked. Throws what every further request would fail with, too. */
function messageOf(error: unknown): string {
  if (!(error instanceof CliError) || isFatal(error)) throw error;
  return error.message;
}

/** Asks indexed documents for chunks that are not: chunks of others are being made. */
async function* checkChunks(
  kb: CheckedKb,
  documents: readonly Document[],
  context: Context,
): AsyncGenerator<Finding> {
  const indexed = documents.filter(
    (each) => indexingStatusOf(each).indexing_status === "completed",
  );
  const check = async (document: Document): Promise<Finding[]> => {
    const counter = newCounter();
    const of = { dataset_id: kb.id, document_id: document.id, status: unindexed };
    try {
      for await (const _ of context.api.rows(listChunks, of, { limit: 1, counter }));
    } catch (error) {
      return [findingOf("not checked", kb, document, { note: messageOf(error) })];
    }
    const count = Math.max(counter.total ?? 0, counter.shown);
    if (count === 0) return [];
    const repair =
      document.enabled && !document.archived ? { repair: kb.line("kb heal", [kb.id]) } : {};
    return [
      findingOf("unindexed chunks", kb, document, {
        note: `no search finds ${counted(count, "chunk")}`,
        ...repair,
      }),
    ];
  };
  for await (const found of mapConcurrent(indexed, context.api.limitConcurrency(), check))
    yield* found;
}

/** Compares the contents of documents with those before and with the marks of a sync. */
async function* checkContents(
  kb: CheckedKb,
  page: readonly Document[],
  seen: Seen,
  context: Context,
): AsyncGenerator<Finding> {
  const stored = page.filter((each) => isDone(indexingStatusOf(each)));
  try {
    for await (const { document, bytes } of readContents(kb.id, stored, context)) {
      if (bytes) yield* contentFindings(kb, document, sha256(bytes), seen);
      else yield findingOf("not checked", kb, document, { note: "the server has no file of it" });
    }
  } catch (error) {
    yield unchecked(kb, `contents: ${messageOf(error)}`);
  }
}
