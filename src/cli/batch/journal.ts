import type { Values } from "../../api/request.ts";
import type { Files } from "../../host/host.ts";
import { isObject } from "../../lib/json.ts";

/** State of a row after an earlier run; rows without one were never sent. */
export type JournalState =
  | { readonly kind: "sent" }
  | { readonly kind: "done"; readonly id: string | undefined };

/**
 * Progress of a batch on disk, so that a killed run can be continued. It holds IDs and row numbers,
 * never a key. One JSON object per line:
 *
 *     {"row":1,"values":{"tag_id":"0190…"}}   names of row 1, resolved
 *     {"resolved":true}                       all rows are resolved; sending starts
 *     {"sent":1}                              row 1 may be on the server
 *     {"done":1,"id":"0190…"}                 row 1 succeeded
 *     {"failed":2}                            row 2 was rejected and can be sent again
 */
export interface Journal {
  /** Row number → values of resolved names; undefined unless all rows are resolved. */
  readonly resolved: ReadonlyMap<number, Values> | undefined;
  /** Row number → its state. */
  readonly states: ReadonlyMap<number, JournalState>;
  /** Resolves when all rows are on disk; from then on the run can be continued. */
  begin(resolved: Iterable<readonly [row: number, values: Values]>): Promise<void>;
  /** Each entry resolves when it is on disk; entries during a write are written together. */
  sent(row: number): Promise<void>;
  done(row: number, id: string | undefined): Promise<void>;
  /** The row was rejected and can be sent again. */
  failed(row: number): Promise<void>;
  /** Deletes the journal when nothing is left to continue. */
  remove(): Promise<void>;
}

/** Characters of resolved rows per write. */
const MAX_WRITE = 1_000_000;

/** Reads the journal at `path`, if it exists. Writes nothing before `begin`. */
export async function openJournal(path: string, files: Files): Promise<Journal> {
  const { resolved, states, complete } = await read(path, files);
  const write = groupCommit((text) => files.append(path, text));
  const append = (entry: unknown) => write(`${JSON.stringify(entry)}\n`);
  return {
    resolved: complete ? resolved : undefined,
    states,
    async begin(rows) {
      // Separates new entries from an incomplete last line.
      if (complete) return write("\n");
      await files.remove(path);
      let text = "";
      for (const [row, values] of rows) {
        text += `${JSON.stringify({ row, values })}\n`;
        if (text.length < MAX_WRITE) continue;
        await write(text);
        text = "";
      }
      await write(`${text}${JSON.stringify({ resolved: true })}\n`);
    },
    sent: (row) => append({ sent: row }),
    done: (row, id) => append({ done: row, id }),
    failed: (row) => append({ failed: row }),
    async remove() {
      await write("").catch(() => {}); // deleted below, so a failed write does not matter
      await files.remove(path);
    },
  };
}

/** A journal that stores nothing, for rows that cannot be read twice. */
export const emptyJournal: Journal = {
  resolved: undefined,
  states: new Map(),
  begin: () => Promise.resolve(),
  sent: () => Promise.resolve(),
  done: () => Promise.resolve(),
  failed: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};

async function read(path: string, files: Files) {
  const resolved = new Map<number, Values>();
  const states = new Map<number, JournalState>();
  let complete = false;
  const bytes = await files.read(path).catch(() => new Uint8Array());
  for (const text of new TextDecoder().decode(bytes).split("\n")) {
    const entry = parsed(text);
    if (!entry) continue;
    const { row, values, sent, done, id, failed } = entry;
    if (typeof row === "number" && isObject(values)) resolved.set(row, values);
    else if (typeof sent === "number") states.set(sent, { kind: "sent" });
    else if (typeof failed === "number") states.delete(failed);
    else if (typeof done === "number") {
      states.set(done, { kind: "done", id: typeof id === "string" ? id : undefined });
    } else if (entry["resolved"] === true) complete = true;
  }
  return { resolved, states, complete };
}

/** An entry; undefined for an incomplete line. */
function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Group commit: texts that arrive during a write go into the next one, because a flush takes as long
 * for one line as for a hundred. After a failure, all further writes fail.
 *
 *     write(a)  write(b)  write(c)  →  append(a), then append(b + c)
 */
function groupCommit(append: (text: string) => Promise<void>): (text: string) => Promise<void> {
  let pending = "";
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  return (text) => {
    pending += text;
    if (next) return next;
    const turn = last.then(() => {
      const batch = pending;
      pending = "";
      next = undefined;
      return append(batch);
    });
    turn.catch(() => {}); // reported by the returned promise, which may be unused
    next = turn;
    last = turn;
    return turn;
  };
}
