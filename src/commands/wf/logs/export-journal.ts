import { CliError, diskProblem, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import type { KnownLog } from "./query.ts";

/** The progress of an export with one more piece of the log. Steps add up. */
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
  /** Unix second up to which the log is read. */
  readonly until?: number | undefined;
  /** Unix second from which reading continues into the past; null at the end. */
  readonly next?: number | null | undefined;
  readonly recent: readonly string[];
  readonly waiting: readonly KnownLog[];
  /** IDs of rows in the previous state that are no longer waiting. */
  readonly settled: readonly string[];
}

const EMPTY_STEP: ExportStep = {
  rows: 0,
  read: 0,
  refetched: 0,
  missing: 0,
  running: 0,
  undetailed: 0,
  gone: 0,
  recent: [],
  waiting: [],
  settled: [],
};

const addSteps = (a: ExportStep, b: ExportStep): ExportStep => ({
  rows: a.rows + b.rows,
  read: a.read + b.read,
  refetched: a.refetched + b.refetched,
  missing: a.missing + b.missing,
  running: a.running + b.running,
  undetailed: a.undetailed + b.undetailed,
  gone: a.gone + b.gone,
  until: b.until ?? a.until,
  next: b.next === undefined ? a.next : b.next,
  recent: b.recent.length === 0 ? a.recent : [...a.recent, ...b.recent],
  waiting: b.waiting.length === 0 ? a.waiting : [...a.waiting, ...b.waiting],
  settled: b.settled.length === 0 ? a.settled : [...a.settled, ...b.settled],
});

/** The final steps once every row is written; each may be done already. */
export interface ExportEnding {
  /** The file for the rows; null without rows and file. */
  readonly file: string | null;
  readonly state: { readonly path: string; readonly text: string } | null;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** Temporary files of an unfinished export. */
export interface ExportFiles {
  /** The rows so far. */
  readonly part: string;
  readonly journal: string;
  /** The file that the rows are appended to, and its size. */
  readonly base: { readonly path: string; readonly bytes: number } | undefined;
  /** The header of a file without a base. */
  readonly head: string;
}

/** An unfinished export of an earlier command, from its journal. */
export interface LeftoverExport {
  readonly pid: number;
  /** The settings at its start. */
  readonly start: unknown;
  readonly bytes: number;
  readonly done: ExportStep;
  readonly ending: ExportEnding | undefined;
}

/** Characters and ms after which lines are flushed; flushing each page would take longer. */
const FLUSH_LENGTH = 1024 * 1024;
const FLUSH_MS = 5000;

/** Reads an unfinished export; undefined without one. Throws `usage` while its process is running. */
export async function findLeftover(
  journal: string,
  host: Host,
): Promise<LeftoverExport | undefined> {
  if (!(await host.files.stat(journal))) return undefined;
  const text = new TextDecoder().decode(await host.files.read(journal));
  let left: LeftoverExport | undefined;
  for (const line of text.split("\n")) {
    const entry = parsed(line);
    if (!entry) continue;
    if ("begun" in entry) {
      left = { pid: 0, start: entry["begun"], bytes: 0, done: EMPTY_STEP, ending: undefined };
    }
    if (!left) continue;
    // The journal is written by this program only.
    if (typeof entry["pid"] === "number") left = { ...left, pid: entry["pid"] };
    if (typeof entry["bytes"] === "number") {
      const step = entry["step"] as ExportStep;
      left = { ...left, bytes: entry["bytes"], done: addSteps(left.done, step) };
    }
    if (isObject(entry["ending"]))
      left = { ...left, ending: entry["ending"] as unknown as ExportEnding };
  }
  if (left && left.pid !== host.process.pid && host.process.isAlive(left.pid)) {
    throw usage(
      `another export is writing to this target (process ${left.pid})`,
      `wait for it; if that process is not an export, remove ${journal}`,
    );
  }
  return left;
}

/** A line of the journal; undefined for one that was cut off by a kill. */
function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The rows of an export and its journal. A flush writes the rows first, then a journal line with the
 * size of the file including them:
 *
 *     runs.jsonl.part          runs.jsonl.part.journal
 *                              {"pid":7,"begun":{…},"bytes":0,"step":{"rows":0,…}}
 *     row 1, row 2             {"bytes":140,"step":{"rows":2,"next":1763719200,…}}
 *     row 3, half of row 4     killed before the next line
 *
 * To resume, the part is truncated to 140 bytes and the log is read from second 1763719200.
 */
export class ExportJournal {
  /** The total progress, including lines that are not flushed yet. */
  done: ExportStep;
  private readonly place: ExportFiles;
  private readonly host: Host;
  /** Size of the part on disk. */
  private bytes: number;
  private lines: string[] = [];
  private length = 0;
  private step = EMPTY_STEP;
  private flushedAt: number;

  private constructor(place: ExportFiles, host: Host, bytes: number, done: ExportStep) {
    this.place = place;
    this.host = host;
    this.bytes = bytes;
    this.done = done;
    this.flushedAt = host.elapsed();
  }

  /** Resumes an unfinished export if its part has all recorded rows; otherwise starts anew. */
  static async open(
    place: ExportFiles,
    start: unknown,
    left: LeftoverExport | undefined,
    host: Host,
  ): Promise<ExportJournal> {
    const { files } = host;
    const base = place.base?.bytes ?? 0;
    const size = (await files.stat(place.part))?.size ?? 0;
    const isComplete =
      left !== undefined && (left.bytes === base || (left.bytes > base && size >= left.bytes));
    const bytes = isComplete ? left.bytes : base;
    const done = isComplete ? left.done : EMPTY_STEP;
    const { pid } = host.process;
    await onDisk(place.part, async () => {
      if (bytes === base) await files.remove(place.part);
      else await files.truncate(place.part, bytes);
    });
    await onDisk(place.journal, async () => {
      if (!isComplete) await files.remove(place.journal);
      const entry = isComplete ? { pid } : { pid, begun: start, bytes, step: EMPTY_STEP };
      // The line break separates the entry from a last line that was cut off.
      await files.append(place.journal, `\n${JSON.stringify(entry)}\n`);
    });
    return new ExportJournal(place, host, bytes, done);
  }

  /** Adds lines and their progress. They are on disk after the next flush. */
  async add(lines: string, progress: Partial<ExportStep>): Promise<void> {
    const step = { ...EMPTY_STEP, ...progress };
    this.step = addSteps(this.step, step);
    this.done = addSteps(this.done, step);
    if (lines !== "") this.lines.push(lines);
    this.length += lines.length;
    const isDue = this.host.elapsed() - this.flushedAt >= FLUSH_MS;
    if (this.length >= FLUSH_LENGTH || isDue) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.step === EMPTY_STEP) return;
    const { files } = this.host;
    const { part, base, head } = this.place;
    const text = this.lines.join("");
    if (text !== "") {
      await onDisk(part, async () => {
        if (base && this.bytes === base.bytes) await files.copy(base.path, part);
        const all = this.bytes === 0 ? head + text : text;
        await files.append(part, all);
        this.bytes += Buffer.byteLength(all);
      });
    }
    await this.record({ bytes: this.bytes, step: this.step });
    this.lines = [];
    this.length = 0;
    this.step = EMPTY_STEP;
    this.flushedAt = this.host.elapsed();
  }

  /** Records the final steps, which depend on the size of the file, and completes the export. */
  async end(withFile: boolean, endingFor: (bytes: number) => ExportEnding): Promise<ExportEnding> {
    await this.flush();
    const { part, head } = this.place;
    if (withFile && this.bytes === 0) {
      await onDisk(part, () => this.host.files.append(part, head));
      this.bytes = Buffer.byteLength(head);
    }
    const ending = endingFor(this.bytes);
    await this.record({ ending });
    await completeExport(this.place, ending, this.host);
    return ending;
  }

  private async record(entry: object): Promise<void> {
    const { journal } = this.place;
    await onDisk(journal, () => this.host.files.append(journal, `${JSON.stringify(entry)}\n`));
  }
}

/**
 * Completes an export whose rows are all written. The journal holds the file name and the state by
 * now, so every step can be retried after a kill: one rename puts the rows in place, then the state
 * that records them is written, and the journal is removed last. So there is never a state without its
 * rows, nor rows that the next export would write again.
 */
export async function completeExport(
  { part, journal }: Pick<ExportFiles, "part" | "journal">,
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
      hint: "the progress is saved; fix the problem and run the same command to resume",
    });
  }
}
