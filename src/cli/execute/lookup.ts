import { own } from "../../lib/json.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Session } from "./session.ts";

/** What looking up needs: reading a list to its end, and one object. */
export interface Lookup {
  rows(row: AnyOperation, input: Readonly<Record<string, unknown>>): AsyncIterable<unknown>;
  /** Id of a knowledge base by the name that it has for the key in use; nothing is sent. */
  base(name: string): Promise<string | undefined>;
  one(row: AnyOperation, input: Readonly<Record<string, unknown>>): Promise<unknown>;
  trace(level: 1, text: string): Promise<void>;
  notice(text: string): Promise<void>;
  /** Are ids looked up whose absence the server does not tell? A dry run sends no read for an id. */
  readonly checks: boolean;
}

/** Look-ups of names through a session; each full list is read once. */
export function lookupOf(session: Session): Lookup {
  const lists = new Map<string, Promise<unknown[]>>();
  const everything = { limit: Infinity };
  return {
    async *rows(row, input) {
      if (row.returns.kind !== "list") {
        yield* session.rows(row, input, everything);
        return;
      }
      // A full list is the same for every name of a line: asked once.
      const key = `${row.id} ${JSON.stringify(input)}`;
      const known = lists.get(key) ?? collect(session.rows(row, input, everything));
      lists.set(key, known);
      yield* await known;
    },
    base: async (name) => own((await session.settings()).bases, name),
    one: (row, input) => session.call(row, input),
    trace: (level, text) => session.context.trace(level, text),
    notice: (text) => session.context.notice(text),
    checks: !session.context.options.dryRun,
  };
}

async function collect(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const row of rows) all.push(row);
  return all;
}
