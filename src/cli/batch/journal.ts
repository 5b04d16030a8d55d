import type { Values } from "../../api/request.ts";
import type { Files } from "../../host/host.ts";
import { isObject } from "../../lib/json.ts";

/** What an earlier run left of a row; a row that is not there was never sent. */
export type JournalState =
  | { readonly kind: "sent" }
  | { readonly kind: "done"; readonly id: string | undefined };

/**
 * What was done so far, kept on disk, so that a run that was killed can go on. It holds ids and
 * row numbers, never a key.
 */
export interface Journal {
  /** Row number → the values that names were turned into; undefined unless all are there. */
  readonly resolved: ReadonlyMap<number, Values> | undefined;
  /** Row number → how far it came. */
  readonly left: ReadonlyMap<number, JournalState>;
  /** Resolves when all rows are on disk: from then on the run can be continued. */
  begin(resolved: Iterable<readonly [row: number, values: Values]>): Promise<void>;
  /** Each resolves when it is on disk; what is said meanwhile is written together. */
  sent(row: number): Promise<void>;
  done(row: number, id: string | undefined): Promise<void>;
  /** The row was refused: it may be sent again. */
  failed(row: number): Promise<void>;
  /** Takes it away once nothing is left to continue. */
  remove(): Promise<void>;
}

/** Characters of resolved rows that are written at a time. */
const piece = 1_000_000;

/** Reads the journal at `path`, if there is one. Nothing is written before `begin`. */
export async function openJournal(path: string, files: Files): Promise<Journal> {
  const { resolved, left, complete } = await read(path, files);
  const write = together((text) => files.append(path, text));
  const line = (entry: unknown) => write(`${JSON.stringify(entry)}\n`);
  return {
    resolved: complete ? resolved : undefined,
    left,
    async begin(rows) {
      // A last line that was cut in two stays alone.
      if (complete) return write("\n");
      await files.remove(path);
      let text = "";
      for (const [row, values] of rows) {
        text += `${JSON.stringify({ row, values })}\n`;
        if (text.length < piece) continue;
        await write(text);
        text = "";
      }
      await write(`${text}${JSON.stringify({ resolved: true })}\n`);
    },
    sent: (row) => line({ sent: row }),
    done: (row, id) => line({ done: row, id }),
    failed: (row) => line({ failed: row }),
    async remove() {
      await write("").catch(() => {}); // it goes, whether the last lines were written or not
      await files.remove(path);
    },
  };
}

/** A journal that keeps nothing, for rows that cannot be read a second time. */
export const emptyJournal: Journal = {
  resolved: undefined,
  left: new Map(),
  begin: () => Promise.resolve(),
  sent: () => Promise.resolve(),
  done: () => Promise.resolve(),
  failed: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};

async function read(path: string, files: Files) {
  const resolved = new Map<number, Values>();
  const left = new Map<number, JournalState>();
  let complete = false;
  const bytes = await files.read(path).catch(() => new Uint8Array());
  for (const text of new TextDecoder().decode(bytes).split("\n")) {
    const entry = parsed(text);
    if (!entry) continue;
    const { row, values, sent, done, id, failed } = entry;
    if (typeof row === "number" && isObject(values)) resolved.set(row, values);
    else if (typeof sent === "number") left.set(sent, { kind: "sent" });
    else if (typeof failed === "number") left.delete(failed);
    else if (typeof done === "number") {
      left.set(done, { kind: "done", id: typeof id === "string" ? id : undefined });
    } else if (entry["resolved"] === true) complete = true;
  }
  return { resolved, left, complete };
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
 * Appends one after the other; texts that come while one is on its way go together in the next,
 * since flushing takes as long for one line as for a hundred. After a failure all further ones fail.
 */
function together(append: (text: string) => Promise<void>): (text: string) => Promise<void> {
  let waiting = "";
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  return (text) => {
    waiting += text;
    if (next) return next;
    const turn = last.then(() => {
      const batch = waiting;
      waiting = "";
      next = undefined;
      return append(batch);
    });
    turn.catch(() => {}); // told to those who wait; nobody may be waiting
    next = turn;
    last = turn;
    return turn;
  };
}
