/** What a list tells of documents, and their contents; pure but for the hashes that are given. */
import { openMetrics } from "../../../lib/formats/openmetrics.ts";
import { formatDuration } from "../../../lib/numbers.ts";
import { valueAt } from "../../../lib/json.ts";
import type { Document } from "../../../operations/documents.ts";
import type { ConditionField, Scope } from "../../conditions/index.ts";
import {
  indexingStatusOf,
  isDone,
  pendingHash,
  storedFile,
  storedValues,
  sheetMark,
  syncFields,
} from "../documents/index.ts";

/** Statuses of chunks that no search finds. */
export const unindexed = ["waiting", "indexing", "error", "paused", "re_segment"] as const;

/** A problem: a row of the result. */
export interface Finding {
  readonly problem: Problem;
  /** Name of the knowledge base. */
  readonly kb: string;
  /** Name of the document, or of the knowledge base. */
  readonly name: string;
  readonly note: string;
  /** A command that repairs it, or shows more where only its user can decide. */
  readonly repair: string;
  /** ID of the document, or of the knowledge base. */
  readonly id: string;
}

/** The knowledge base that is checked. */
export interface CheckedKb {
  readonly id: string;
  readonly name: string;
  /** A command line for a shell, for the server of this line. */
  readonly line: CommandLine;
}

type CommandLine = (
  command: string,
  args: readonly string[],
  flags?: Readonly<Record<string, string | true>>,
) => string;

/** A finding about a document; without `repair`, the document is shown. */
export const findingOf = (
  problem: Problem,
  kb: CheckedKb,
  { id, name }: Pick<Document, "id" | "name">,
  { note, repair = kb.line("kb doc show", [kb.id, id]) }: Partial<Finding>,
): Finding => ({ problem, kb: kb.name, name, note: note ?? "", repair, id });

/** The command that deletes a document; an archived one cannot be (server §9.7). */
const deletion = (kb: CheckedKb, { id, archived }: Known): string =>
  kb.line(archived ? "kb doc show" : "kb doc delete", [kb.id, id]);

/** May it be written again although it may be disabled on purpose? */
export const isInUse = ({ enabled, archived }: Known): boolean => enabled === true && !archived;

/**
 * What the list says about a document; nothing for one that is right. `stuckAfter` and `now` are in ms. The
 * age is that of its stored file, which each write of the content replaces (server §9.5); an update of the
 * technique keeps it, so the note says what the age is of.
 */
export function* listFindings(
  kb: CheckedKb,
  document: Document,
  { stuckAfter, now }: { readonly stuckAfter: number; readonly now: number },
): Generator<Finding> {
  const status = indexingStatusOf(document);
  const { indexing_status, error } = status;
  const heal = (flags = {}) =>
    isInUse(document) ? { repair: kb.line("kb heal", [kb.id], flags) } : {};
  const remove = { repair: deletion(kb, document) };
  if (indexing_status === "error")
    yield findingOf("error", kb, document, { note: error ?? "no reason given", ...heal() });
  else if (indexing_status === "paused") {
    const open = { repair: kb.line("kb open", [kb.id, document.id]) };
    yield findingOf("paused", kb, document, {
      note: "indexing was paused in the console",
      ...open,
    });
  } else if (!isDone(status)) {
    const age = now - 1000 * storedAt(document);
    if (age < stuckAfter) return;
    const note = `${indexing_status}; its content was stored ${formatDuration(age)} ago`;
    const flags = { "stuck-after": `${Math.floor(stuckAfter / 1000)}s` };
    yield findingOf("stuck", kb, document, { note, ...heal(flags) });
  } else if (error !== null) yield findingOf("no chunks", kb, document, { note: error, ...heal() });
  else if (sizeOf(document) === 0 || document.word_count === 0)
    yield findingOf("empty", kb, document, { note: "it has no text", ...remove });
  const { [syncFields.hash]: mark } = storedValues(document.doc_metadata);
  if (isPending(mark))
    yield findingOf("sync", kb, document, { note: `a sync did not confirm its content; ${again}` });
}

/** Unix seconds at which its content was stored; that of its creation if the server does not tell. */
export function storedAt(document: Document): number {
  const stored = valueAt(document, "data_source_detail_dict.upload_file.created_at");
  return typeof stored === "number" ? stored : (document.created_at ?? Infinity);
}

const sizeOf = (document: Document): unknown =>
  valueAt(document, "data_source_detail_dict.upload_file.size");

const again = "run its sync again";

const isPending = (mark: unknown): boolean =>
  typeof mark === "string" && mark.startsWith(pendingHash(""));

type Known = Pick<Document, "id" | "name" | "enabled" | "archived">;

/** Documents by what no two should share, and how many have a name. Lists have the newest first. */
export interface Seen {
  readonly names: Map<string, number>;
  readonly contents: Map<string, Known>;
  readonly paths: Map<string, Known>;
}

/** Notes a document; returns the copy, if there is one, and the other: the older one that searches find. */
function copyOf(seen: Map<string, Known>, key: string, document: Known) {
  const { id, name, enabled, archived } = document;
  const older = { id, name, enabled, archived };
  const newer = seen.get(key);
  const isKept = newer !== undefined && isInUse(newer) && !isInUse(older);
  seen.set(key, isKept ? newer : older);
  return newer && (isKept ? { copy: older, other: newer } : { copy: newer, other: older });
}

/** What the path of a document in its source says: a newer document has the same. */
export function* pathFindings(kb: CheckedKb, document: Document, seen: Seen): Generator<Finding> {
  const { [syncFields.path]: path, [syncFields.source]: source } = storedValues(
    document.doc_metadata,
  );
  if (typeof path !== "string") return;
  const key = JSON.stringify([source ?? null, path]);
  const found = copyOf(seen.paths, key, document);
  if (!found) return;
  const note = `marked as the document of ${path}, as is ${found.other.name}`;
  yield findingOf("sync", kb, found.copy, { note, repair: deletion(kb, found.copy) });
}

/** What the hash of a content says: a newer document has it, too, or a sync marked another one. */
export function* contentFindings(
  kb: CheckedKb,
  document: Document,
  hash: string,
  seen: Seen,
): Generator<Finding> {
  const marks = storedValues(document.doc_metadata);
  if (String(marks[syncFields.source]).startsWith(sheetMark(""))) return;
  const found = copyOf(seen.contents, hash, document);
  if (found && sizeOf(document) !== 0) {
    const note = `same content as ${found.other.name}`;
    yield findingOf("duplicate", kb, found.copy, { note, repair: deletion(kb, found.copy) });
  }
  const { [syncFields.hash]: mark, [syncFields.stored]: stored } = marks;
  if (typeof mark !== "string" || mark === hash || isPending(mark)) return;
  const isLater = stored !== undefined && stored !== storedFile(document);
  const why = isLater ? "was written after the last sync" : "is not the one that the sync marked";
  yield findingOf("sync", kb, document, { note: `its content ${why}; ${again}` });
}

/** The kinds of problems, with the figure of --fail-if that counts each. */
const problemFigures = {
  error: "errors",
  stuck: "stuck",
  paused: "paused",
  empty: "empty",
  "no chunks": "without_chunks",
  duplicate: "duplicates",
  "unindexed chunks": "unindexed_chunks",
  "lost file": "lost_files",
  model: "models",
  search: "searches",
  sync: "sync",
  "not checked": "unchecked",
} as const;

export type Problem = keyof typeof problemFigures;

/** ProblemCounts of conditions: `problems` counts all but `not checked`. */
export const problemFigureNames = ["problems", ...Object.values(problemFigures)] as const;

export type ProblemCounts = Readonly<Record<(typeof problemFigureNames)[number], number>>;

/** Counts problems by figure. */
export function countProblems(found: Iterable<Problem>): ProblemCounts {
  const figures = Object.fromEntries(problemFigureNames.map((name) => [name, 0])) as Record<
    (typeof problemFigureNames)[number],
    number
  >;
  for (const problem of found) {
    figures[problemFigures[problem]]++;
    if (problem !== "not checked") figures.problems++;
  }
  return figures;
}

const field = (name: keyof ProblemCounts): ConditionField<ProblemCounts> => ({
  kind: "number",
  read: ({ [name]: value }) => ({ value, actual: `${name} is ${value}` }),
});

/** What conditions of --fail-if can be about. */
export const problemScope: Scope<ProblemCounts> = {
  fields: Object.fromEntries(problemFigureNames.map((name) => [name, field(name)])),
};

/** The problems of a knowledge base. */
export interface KbCounts {
  readonly id: string;
  readonly name: string;
  readonly problems: ProblemCounts;
}

/** The numbers of problems as metrics, also those that are 0. */
export const checkMetrics = (counts: readonly KbCounts[]): string =>
  openMetrics([
    {
      name: "kb_problems",
      type: "gauge",
      help: "Problems of a knowledge base by kind; unchecked is what could not be checked.",
      samples: counts.flatMap(({ id, name, problems }) =>
        Object.values(problemFigures).map((problem) => ({
          labels: { knowledge_base: name, id, problem },
          value: problems[problem],
        })),
      ),
    },
  ]);
