import { dirname } from "node:path";
import { CliError, diskProblem, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { Journal } from "../../../lib/journal.ts";
import { isObject, stringifyJson } from "../../../lib/json.ts";
import type { ExportBase, ExportTarget } from "./export-target.ts";
import type { KnownLog } from "./query.ts";

/** The progress of an export with one more piece of the log. */
export interface ExportStep {
  readonly rows: number;
  readonly read: number;
  readonly refetched: number;
  readonly missing: number;
  /** Rows written before their run had ended. */
  readonly running: number;
  /** Rows whose run had no details. */
  readonly undetailed: number;
  /** Waiting runs that left the log. */
  readonly gone: number;
  readonly recent: readonly string[];
  readonly waiting: readonly KnownLog[];
  /** IDs of rows in the previous state that are no longer waiting. */
  readonly settled: readonly string[];
  /** Unix second up to which the log is read. */
  readonly until?: number;
  /** Unix second from which reading continues into the past; null at the end. */
  readonly next?: number | null;
}

const noCounts = { rows: 0, read: 0, refetched: 0, missing: 0, running: 0, undetailed: 0, gone: 0 };
const noProgress: ExportStep = { ...noCounts, recent: [], waiting: [], settled: [] };

/** Counts add up, lists grow, and times are replaced. */
function addSteps(done: ExportStep, step: Partial<ExportStep>): ExportStep {
  const sum = { ...done, ...step };
  for (const name of Object.keys(noCounts) as (keyof typeof noCounts)[])
    sum[name] = done[name] + (step[name] ?? 0);
  const { recent = [], waiting = [], settled = [] } = step;
  return {
    ...sum,
    recent: [...done.recent, ...recent],
    waiting: [...done.waiting, ...waiting],
    settled: [...done.settled, ...settled],
  };
}

/** The final steps once every row is written; each may be done already. */
export interface ExportEnding {
  /** The file for the rows; null without rows and file. */
  readonly file: string | null;
  readonly state: { readonly path: string; readonly text: string } | null;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** Where the rows of an export go. */
export interface ExportFiles extends Pick<ExportTarget, "part" | "journal"> {
  readonly base: ExportBase;
  /** The header of a file without a base. */
  readonly head: string;
}

/** How an export begins, and the unfinished one that it continues. */
interface ExportStart {
  readonly start: unknown;
  readonly resumed: LeftoverExport | undefined;
}

/** Characters and ms after which lines are flushed; flushing each page would take longer. */
const FLUSH_LENGTH = 1024 * 1024;
const FLUSH_MS = 5000;

/** Locks the target, also against other containers. Throws `usage` while another export holds it. */
export async function lockTarget(
  { journal }: ExportTarget,
  { files, process }: Host,
): Promise<() => void> {
  const lock = await onDisk(journal, async () => {
    await files.makeDirectory(dirname(journal)).catch(() => {}); // the lock fails with the reason
    return files.lock(`${journal}.lock`, process);
  });
  if ("release" in lock) return lock.release;
  throw usage(`another export is writing to this target (${lock.heldBy})`, lock.next);
}

/** An unfinished export of an earlier command: the settings at its start, and what it did. */
export type LeftoverExport = NonNullable<ReturnType<typeof findLeftover>>;

/** The unfinished export in a journal; undefined without one. */
export function findLeftover({ entries }: Journal) {
  const begun = entries.findLastIndex((entry) => "begun" in entry);
  if (begun < 0) return undefined;
  const lines = entries.slice(begun);
  // The journal is written by this program only.
  const flushes = lines.filter(({ bytes }) => typeof bytes === "number") as unknown as readonly {
    readonly bytes: number;
    readonly step: ExportStep;
  }[];
  const ending = lines.findLast((entry) => isObject(entry["ending"]))?.["ending"];
  return {
    start: lines[0]?.["begun"],
    bytes: flushes.at(-1)?.bytes ?? 0,
    done: flushes.map(({ step }) => step).reduce(addSteps, noProgress),
    ending: ending as ExportEnding | undefined,
  };
}

/**
 * Whether an unfinished export is of the same command. A relative time has moved with the clock; the
 * export resumes with the times it started with.
 */
export function isSame({ start }: LeftoverExport, now: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(start)) return false;
  const elapsed = Number(now["clock"]) - Number(start["clock"]);
  return Object.keys(now).every((name) => {
    const [before, after] = [start[name], now[name]];
    if (name === "clock" || stringifyJson(before) === stringifyJson(after)) return true;
    const isTime = (name === "since" || name === "until") && before !== null && after !== null;
    return isTime && Math.abs(Number(after) - Number(before) - elapsed) <= 1;
  });
}

/** The rows of an export and its journal. */
export type ExportJournal = Awaited<ReturnType<typeof openExportJournal>>;

/**
 * Resumes an unfinished export if its part has all recorded rows; otherwise starts anew. A flush writes the rows first, then a journal line with the
 * size of the file including them:
 *
 *     runs.jsonl.part          runs.jsonl.part.journal
 *                              {"begun":{…},"bytes":0,"step":{"rows":0,…}}
 *     row 1, row 2             {"bytes":140,"step":{"rows":2,"next":1763719200,…}}
 *     row 3, half of row 4     killed before the next line
 *
 * To resume, the part is truncated to 140 bytes and the log is read from second 1763719200.
 */
export async function openExportJournal(
  place: ExportFiles,
  journal: Journal,
  { start, resumed: left }: ExportStart,
  host: Host,
) {
  const { files } = host;
  const { part, base, head } = place;
  const before = base?.bytes ?? 0;
  const size = (await files.stat(part))?.size ?? 0;
  const isComplete = left && (left.bytes === before || (left.bytes > before && size >= left.bytes));
  /** Size of the part on disk. */
  let bytes = isComplete ? left.bytes : before;
  let done = isComplete ? left.done : noProgress;
  let text = "";
  let step = noProgress;
  let flushedAt = host.elapsed();
  await onDisk(part, () => (bytes === before ? files.remove(part) : files.truncate(part, bytes)));
  const record = (entry: object) => onDisk(place.journal, () => journal.append([entry]));
  if (!isComplete) {
    await onDisk(place.journal, () => journal.remove());
    await record({ begun: start, bytes, step: noProgress });
  }

  async function flush(): Promise<void> {
    if (step === noProgress) return;
    if (text !== "") {
      await onDisk(part, async () => {
        if (base && bytes === base.bytes) await files.copy(base.path, part);
        const all = bytes === 0 ? head + text : text;
        await files.append(part, all, 0o666);
        bytes += Buffer.byteLength(all);
      });
    }
    await record({ bytes, step });
    text = "";
    step = noProgress;
    flushedAt = host.elapsed();
  }

  return {
    /** The total progress, including lines that are not flushed yet. */
    done: () => done,
    flush,
    /** Adds lines and their progress. They are on disk after the next flush. */
    async add(lines: string, more: Partial<ExportStep>): Promise<void> {
      step = addSteps(step, more);
      done = addSteps(done, more);
      text += lines;
      const isDue = host.elapsed() - flushedAt >= FLUSH_MS;
      if (text.length >= FLUSH_LENGTH || isDue) await flush();
    },
    /** Records the final steps, which depend on the size of the file, and completes the export. */
    async end(withFile: boolean, endingFor: (bytes: number) => ExportEnding): Promise<void> {
      await flush();
      if (withFile && bytes === 0) {
        await onDisk(part, () => files.append(part, head, 0o666));
        bytes = Buffer.byteLength(head);
      }
      const ending = endingFor(bytes);
      await record({ ending });
      await completeExport(place, ending, host);
    },
  };
}

/**
 * Completes an export whose rows are all written. The journal holds the file name and the state by
 * now, so every step can be retried after a kill: one rename puts the rows in place, then the state
 * that records them is written, and the journal is removed last. So there is never a state without its
 * rows, nor rows that the next export would write again.
 */
export async function completeExport(
  { part, journal }: Pick<ExportTarget, "part" | "journal">,
  { file, state }: ExportEnding,
  { files }: Host,
): Promise<void> {
  if (file !== null && (await files.stat(part))) {
    await onDisk(file, () => files.rename(part, file));
  }
  if (state) await onDisk(state.path, () => files.writeAtomic(state.path, state.text));
  await files.remove(part);
  await files.remove(journal);
}

/** Runs disk operations and explains their errors. */
async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const problem = diskProblem(cause);
    if (!problem) throw cause;
    throw new CliError(problem.kind, `${path}: ${problem.reason}`, {
      cause,
      code: "disk",
      hint: "fix the problem and run the same command again; it resumes from what is on the disk",
    });
  }
}
