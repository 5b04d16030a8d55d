import type { ApiClient } from "../../api/client.ts";
import type { Context } from "../../commands/task/command-spec.ts";
import { runsOfMachine } from "../../commands/wf.ts";
import type { Settings } from "../../config/settings.ts";
import { collect } from "../../lib/collect.ts";
import type { Values } from "../../api/request.ts";
import { isObject, own, stringifyJson } from "../../lib/json.ts";
import { isUuid } from "../../lib/text.ts";
import type { ListedNoun, Noun } from "../../operations/operation.ts";
import type { Command } from "../parse/command.ts";
import { rulesOf } from "../parse/command-list.ts";
import { helpHint } from "../parse/input.ts";
import type { Lookup } from "../../resolve/listings.ts";
import type { Resolved } from "../../resolve/resolve-names.ts";

/** What looks names up: with the list operations of both programs, 15 ms that whole IDs save. */
export const names = () => import("../../resolve/resolve-names.ts");

type ResolvedRefs = Map<Noun | ListedNoun, Resolved>;

/**
 * The values of a request: names are resolved to IDs, and the rules of the command fill in what follows
 * from others. A positional with several values, one request each, stays a list.
 */
export async function resolvedInput(
  command: Command,
  input: Values,
  lookup: Lookup,
): Promise<Values> {
  const known: Record<string, unknown> = { ...input };
  const behind: ResolvedRefs = new Map();
  const resolved = async () => {
    await resolveRefs(command, known, behind, lookup);
    return known;
  };
  const { fill, fills } = rulesOf(command) ?? {};
  if (!fill || fills?.every((name) => input[name] === undefined)) return resolved();
  const object = async (noun: Noun) => {
    const found = behind.get(noun);
    if (!found) return undefined;
    const { objectOf } = await names();
    found.object = await objectOf(noun, found, known, lookup);
    return isObject(found.object) ? found.object : undefined;
  };
  const { one: read, entered } = lookup;
  const trace = (text: string) => lookup.trace(1, text);
  return fill({ input, resolved, object, read, entered, trace, helpHint: helpHint(command) });
}

/** Replaces names by IDs, and keeps the objects that were read for them. */
async function resolveRefs(
  { params }: Command,
  known: Record<string, unknown>,
  behind: ResolvedRefs,
  lookup: Lookup,
): Promise<void> {
  const refs = Object.entries(params).flatMap(([name, { kind, noun, listed, mustExist }]) => {
    const value = known[name];
    const named = noun ?? listed;
    if (named === undefined || value === undefined) return [];
    // A whole ID needs no list, and none is loaded for it.
    const isWhole = kind === "uuid" && [value].flat().every((id) => isUuid(String(id)));
    return isWhole ? [] : [{ name, value, noun: named, checked: mustExist && noun }];
  });
  if (refs.length === 0) return;
  const { requireKnown, resolveName } = await names();
  for (const { name, value, noun, checked } of refs) {
    const ids: string[] = [];
    const unseen: string[] = [];
    for (const text of [value].flat()) {
      const resolved = await resolveName(noun, String(text), known, lookup);
      behind.set(noun, resolved);
      ids.push(resolved.id);
      if (resolved.object === undefined) unseen.push(resolved.id);
    }
    known[name] = Array.isArray(value) ? ids : ids[0];
    if (checked) await requireKnown(checked, unseen, known, lookup);
  }
}

/** Looks names up through a session; a list that is one response is requested once. */
export function lookupOf(source: {
  readonly command: Command;
  readonly api: ApiClient;
  readonly context: Context;
  readonly settings: () => Promise<Settings>;
  readonly names: Map<string, string>;
}): Lookup {
  const { context } = source;
  const lists = new Map<string, Promise<unknown[]>>();
  return {
    effect: source.command.effect,
    async *rows(row, input) {
      if (row.returns.kind !== "list") {
        yield* source.api.rows(row, input);
        return;
      }
      const key = `${row.id} ${stringifyJson(input)}`;
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
