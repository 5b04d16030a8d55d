import type { Values } from "../../api/request.ts";
import { openJournal } from "../../lib/journal.ts";
import type { JournalFiles } from "../../lib/journal.ts";
import { isObject } from "../../lib/json.ts";

/** State of a row after an earlier run; rows without one were never sent. */
export interface JournalState {
  /** Is its end known? */
  readonly kind: "sent" | "done";
  /** What it has created, if that is known. */
  readonly id?: string | undefined;
}

const RESOLVED_ROWS = 10_000;

/**
 * Progress of a batch on disk, so that a killed run can be continued. It holds IDs and row numbers,
 * never a key. One JSON object per line:
 *
 *     {"row":1,"values":{"tag_id":"0190…"}}   names of row 1, resolved
 *     {"resolved":true}                       all rows are resolved; sending starts
 *     {"sent":1}                              row 1 may be on the server
 *     {"sent":1,"id":"0190…"}                 row 1 has created this
 *     {"done":1,"id":"0190…"}                 row 1 succeeded
 *     {"failed":2}                            row 2 was rejected and can be sent again
 */
export interface BatchJournal {
  /** Row number → values of resolved names; undefined unless all rows are resolved. */
  readonly resolved: ReadonlyMap<number, Values> | undefined;
  /** Row number → its state. */
  readonly states: ReadonlyMap<number, JournalState>;
  /** Resolves when all rows are on disk; from then on the run can be continued. */
  begin(resolved: AsyncIterable<readonly [row: number, values: Values]>): Promise<void>;
  /** Each entry resolves when it is on disk; entries during a write are written together. */
  sent(row: number, id?: string): Promise<void>;
  done(row: number, id: string | undefined): Promise<void>;
  /** The row was rejected and can be sent again. */
  failed(row: number): Promise<void>;
  /** Deletes the journal when nothing is left to continue. */
  remove(): Promise<void>;
}

/** Reads the journal at `path`, if it exists. Writes nothing before `begin`. */
export async function openBatchJournal(path: string, files: JournalFiles): Promise<BatchJournal> {
  const { entries, append, remove } = await openJournal(path, files);
  const resolved = new Map<number, Values>();
  const states = new Map<number, JournalState>();
  for (const { row, values, sent, done, id, failed } of entries) {
    if (typeof row === "number" && isObject(values)) resolved.set(row, values);
    else if (typeof failed === "number") states.delete(failed);
    else {
      const known = typeof id === "string" ? { id } : {};
      if (typeof sent === "number")
        states.set(sent, { ...states.get(sent), kind: "sent", ...known });
      if (typeof done === "number") states.set(done, { kind: "done", ...known });
    }
  }
  const complete = entries.some((entry) => entry["resolved"] === true);
  return {
    resolved: complete ? resolved : undefined,
    states,
    async begin(rows) {
      if (complete) return append([]); // fails if the journal cannot be written
      await remove();
      const some: object[] = [];
      for await (const [row, values] of rows) {
        some.push({ row, values });
        if (some.length === RESOLVED_ROWS) await append(some.splice(0));
      }
      await append(some);
      await append([{ resolved: true }]);
    },
    sent: (row, id) => append([{ sent: row, id }]),
    done: (row, id) => append([{ done: row, id }]),
    failed: (row) => append([{ failed: row }]),
    remove,
  };
}

/** A journal that stores nothing, for rows that cannot be read twice. */
export const emptyJournal: BatchJournal = {
  resolved: undefined,
  states: new Map(),
  begin: () => Promise.resolve(),
  sent: () => Promise.resolve(),
  done: () => Promise.resolve(),
  failed: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};
