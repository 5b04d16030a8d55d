import type { ApiClient } from "../../api/client.ts";
import type { Values } from "../../api/request.ts";
import type { Context } from "../../commands/task/command-spec.ts";
import type { Settings } from "../../config/settings.ts";
import { collect } from "../../lib/collect.ts";
import { own } from "../../lib/json.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { runsOfMachine } from "../../commands/wf/index.ts";

/** What resolving names needs: whole lists, and single objects. */
export interface Lookup {
  rows(row: AnyOperation, input: Values): AsyncIterable<unknown>;
  /** ID that the profile stores for the name of a knowledge base; sends nothing. */
  base(name: string): Promise<string | undefined>;
  one(row: AnyOperation, input: Values): Promise<unknown>;
  /** IDs of the runs on this server that were started or followed on this machine. */
  followedRuns(): Promise<readonly string[]>;
  /** Remembers the name that an ID was resolved from, for hints. */
  entered(id: string, name: string): void;
  trace(level: 1, text: string): Promise<void>;
  notice(text: string): Promise<void>;
}

/** Looks names up through a session; a list that is one response is requested once. */
export function lookupOf(source: {
  readonly api: ApiClient;
  readonly context: Context;
  readonly settings: () => Promise<Settings>;
  readonly names: Map<string, string>;
}): Lookup {
  const { context } = source;
  const lists = new Map<string, Promise<unknown[]>>();
  return {
    async *rows(row, input) {
      if (row.returns.kind !== "list") {
        yield* source.api.rows(row, input);
        return;
      }
      const key = `${row.id} ${JSON.stringify(input)}`;
      const list = lists.get(key) ?? collect(source.api.rows(row, input));
      lists.set(key, list);
      yield* await list;
    },
    base: async (name) => own((await source.settings()).bases, name),
    one: (row, input) => source.api.call(row, input),
    async followedRuns() {
      return [...(await runsOfMachine(context)).keys()];
    },
    entered(id, name) {
      // What a command itself looks up later was not entered.
      if (!source.names.has(id)) source.names.set(id, name);
    },
    trace: context.trace,
    notice: context.notice,
  };
}
