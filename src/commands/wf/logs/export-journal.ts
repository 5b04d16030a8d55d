import { CliError, diskProblem } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import type { KnownLog } from "./query.ts";

/** How far an export came with one more piece of the log. Numbers add up. */
export interface ExportStep {
  readonly rows: number;
  readonly read: number;
  readonly refetched: number;
  readonly missing: number;
  /** Rows written before their run had ended. */
  readonly running: number;
  /** Rows whose run had no detail. */
  readonly undetailed: number;
  /** Waiting runs that the log does not hold any more. */
  readonly gone: number;
  /** Unix second up to which the log is read. */
  readonly until?: number | undefined;
  /** Unix second from which reading goes on into the past; null when all was read. */
  readonly next?: number | null | undefined;
  readonly recent: readonly string[];
  readonly waiting: readonly KnownLog[];
  /** Ids of earlier waiting entries that are dealt with. */
  readonly settled: readonly string[];
}

const nothing: ExportStep = {
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

const together = (a: ExportStep, b: ExportStep): ExportStep => ({
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

/** What is left to do once every row is written; each part may be done already. */
export interface ExportEnding {
  /** Where the rows go; null when there are none and no file is to be made. */
  readonly file: string | null;
  readonly state: { readonly path: string; readonly text: string } | null;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** Where an export works before its file is in place. */
export interface ExportPlace {
  /** Rows so far. */
  readonly part: string;
  readonly journal: string;
  /** File whose rows stand before the new ones, and its size. */
  readonly base: { readonly path: string; readonly bytes: number } | undefined;
  /** Text at the top of a file without a base. */
  readonly head: string;
}

/** What an earlier run of the command left. */
export interface LeftoverExport {
  readonly pid: number;
  readonly begun: unknown;
  readonly bytes: number;
  readonly done: ExportStep;
  readonly ending: ExportEnding | undefined;
}

/** An export that goes on; what it has added survives the end of the program. */
export interface ExportJournal {
  readonly done: ExportStep;
  /** Adds lines with what they stand for. They are on disk after the next flush. */
  add(lines: string, step: Partial<ExportStep>): Promise<void>;
  flush(): Promise<void>;
  /** Writes down how it ends, knowing the size of the file, then ends it. */
  end(withFile: boolean, make: (bytes: number) => ExportEnding): Promise<ExportEnding>;
}

/** Characters and ms after which lines are written to disk: flushing each page would take longer. */
const enough = 1024 * 1024;
const longest = 5000;

/** Reads what an earlier run left; undefined when there is nothing. Throws usage while that still runs. */
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
      left = { pid: 0, begun: entry["begun"], bytes: 0, done: nothing, ending: undefined };
    }
    if (!left) continue;
    // The lines are our own.
    if (typeof entry["pid"] === "number") left = { ...left, pid: entry["pid"] };
    if (typeof entry["bytes"] === "number") {
      const step = entry["step"] as ExportStep;
      left = { ...left, bytes: entry["bytes"], done: together(left.done, step) };
    }
    if (isObject(entry["ending"]))
      left = { ...left, ending: entry["ending"] as unknown as ExportEnding };
  }
  if (left && left.pid !== host.process.pid && host.process.isAlive(left.pid)) {
    throw new CliError("usage", `another export is writing here (process ${left.pid})`, {
      sideEffect: "none",
      hint: `wait for it; if it is no export, remove ${journal}`,
    });
  }
  return left;
}

/** A line as it was written; undefined for one that was cut by the end of the program. */
function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Goes on with what was left, if it is whole, else begins anew. Rows are flushed before the journal
 * says how long the file is with them, so what lies behind that length is cut off here: half a line,
 * or rows whose place in the log nobody knows.
 */
export async function openExportJournal(
  place: ExportPlace,
  begun: unknown,
  left: LeftoverExport | undefined,
  host: Host,
): Promise<ExportJournal> {
  const { files } = host;
  const base = place.base?.bytes ?? 0;
  const size = (await files.stat(place.part))?.size ?? 0;
  const whole =
    left !== undefined && (left.bytes === base || (left.bytes > base && size >= left.bytes));
  let bytes = whole ? left.bytes : base;
  let done = whole ? left.done : nothing;
  const { pid } = host.process;
  await onDisk(place.part, async () => {
    if (bytes === base) await files.remove(place.part);
    else await files.truncate(place.part, bytes);
  });
  await onDisk(place.journal, async () => {
    if (!whole) await files.remove(place.journal);
    const entry = whole ? { pid } : { pid, begun, bytes, step: nothing };
    // A last line that was cut in two stays alone.
    await files.append(place.journal, `\n${JSON.stringify(entry)}\n`);
  });

  let lines: string[] = [];
  let length = 0;
  let step = nothing;
  let flushed = host.elapsed();

  const flush = async () => {
    if (step === nothing) return;
    const text = lines.join("");
    if (text !== "") {
      await onDisk(place.part, async () => {
        if (bytes === base && place.base) await files.copy(place.base.path, place.part);
        const all = bytes === 0 ? place.head + text : text;
        await files.append(place.part, all);
        bytes += Buffer.byteLength(all);
      });
    }
    await onDisk(place.journal, () =>
      files.append(place.journal, `${JSON.stringify({ bytes, step })}\n`),
    );
    lines = [];
    length = 0;
    step = nothing;
    flushed = host.elapsed();
  };

  return {
    get done() {
      return done;
    },
    async add(text, more) {
      const next = { ...nothing, ...more };
      step = together(step, next);
      done = together(done, next);
      if (text !== "") lines.push(text);
      length += text.length;
      if (length >= enough || host.elapsed() - flushed >= longest) await flush();
    },
    flush,
    async end(withFile, make) {
      await flush();
      if (withFile && bytes === 0) {
        await onDisk(place.part, () => files.append(place.part, place.head));
        bytes = Buffer.byteLength(place.head);
      }
      const ending = make(bytes);
      await onDisk(place.journal, () =>
        files.append(place.journal, `${JSON.stringify({ ending })}\n`),
      );
      await settleExport(place, ending, host);
      return ending;
    },
  };
}

/**
 * Ends an export whose rows are all written. The journal holds the file's name and the state by
 * now, so each step can be repeated after a kill: rows are put in place by one rename, and are there
 * when no part is left; the state that names them is written after that, and the journal goes last.
 * A state without its rows, or rows that a next export would write again, is not possible.
 */
export async function settleExport(
  { part, journal }: Pick<ExportPlace, "part" | "journal">,
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

/** The work, with an error of the operating system in plain words. */
async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const problem = diskProblem(cause);
    if (!problem) throw cause;
    throw new CliError(problem.kind, `${path}: ${problem.reason}`, {
      cause,
      code: "disk",
      hint: "what was written so far is kept; mend it, then the same command goes on",
    });
  }
}
