import type { Values } from "../../api/request.ts";
import { CliError, usage } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { getDocument, listDocuments } from "../../operations/documents.ts";
import type { ListedNoun, Noun, Param } from "../../operations/operation.ts";
import { flagOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { nouns } from "./nouns.ts";
import { helpHint, labelOf } from "./input.ts";
import type { Lookup } from "./lookup.ts";
import { fromObject, objectOf } from "./resolve-names.ts";
import type { Resolved } from "./resolve-names.ts";
import { commandLine } from "../../lib/command-line.ts";

/** The resolved names, by noun. */
type ResolvedRefs = Map<Noun | ListedNoun, Resolved>;

/** The object of a path such as `kb.doc_form` or `current.data.answer`. */
type ObjectOf = (path: string) => Promise<unknown>;

const nounOf = (path: string) => path.slice(0, path.indexOf(".")) as Noun; // rows name a noun there

/**
 * Adds values that follow from others: implied ones, and those that the row fills from resolved
 * objects. Throws usage for values that the server would ignore, and for missing ones.
 */
export async function fillValues(
  command: Command,
  typed: Values,
  resolved: { readonly known: Values; readonly behind: ResolvedRefs },
  lookup: Lookup,
): Promise<Values> {
  const known: Record<string, unknown> = { ...resolved.known };
  const objectAt = objects(command, known, resolved.behind, lookup);
  addImplied(command, known);
  await rejectIgnored(command, typed, known, objectAt);
  await fillAbsent(command, known, objectAt, lookup);
  if (lookup.checks) await requireModel(command, typed, known, { objectAt, lookup });
  const rule =
    (await fittingRule(command, known, lookup)) ?? (await firstRule(command, known, objectAt));
  if (rule !== undefined) known["process_rule"] = rule;
  return known;
}

function objects(command: Command, known: Values, behind: ResolvedRefs, lookup: Lookup): ObjectOf {
  const { current } = command.row ?? {};
  let state: Promise<unknown> | undefined;
  return async (path) => {
    if (path.startsWith("current.")) return current && (state ??= lookup.one(current, known));
    const noun = nounOf(path);
    const found = behind.get(noun);
    if (!found) return undefined;
    const object = await objectOf(noun, found, known, lookup);
    behind.set(noun, { ...found, object });
    return object;
  };
}

const usageError = (command: Command, message: string, hint = helpHint(command)) =>
  usage(message, hint);

const flagNamed = ({ params }: Command, name: string): string => {
  const param = params[name];
  return param ? `--${flagOf(name, param)}` : name;
};

function addImplied(command: Command, known: Record<string, unknown>): void {
  for (const [name, param] of Object.entries(command.params)) {
    if (known[name] === undefined) continue;
    for (const [other, value] of Object.entries(param.implies ?? {})) {
      if ((known[other] ??= value) === value) continue;
      const label = labelOf(command, name, param);
      throw usageError(
        command,
        `${label} can only be used with ${flagNamed(command, other)} ${value}`,
      );
    }
  }
}

/** Throws for a value that the object has already and that this request would not change. */
async function rejectIgnored(
  command: Command,
  typed: Values,
  known: Values,
  objectAt: ObjectOf,
): Promise<void> {
  for (const [name, param] of Object.entries(command.params)) {
    if (param.lockedBy === undefined || typed[name] === undefined) continue;
    const object = await objectAt(param.lockedBy);
    const current = fromObject(param.lockedBy, object);
    if (current === undefined || (isObject(object) && object[name] === known[name])) continue;
    const noun = nounOf(param.lockedBy);
    const field = param.lockedBy.slice(noun.length + 1).replaceAll("_", " ");
    throw usageError(
      command,
      `${labelOf(command, name, param)} has no effect: the ${nouns[noun].title} already has the ${field} ${String(current)}`,
      `remove it, or change the knowledge base with ${commandLine("kb update", [], { help: true })}`,
    );
  }
}

async function fillAbsent(
  command: Command,
  known: Record<string, unknown>,
  objectAt: ObjectOf,
  lookup: Lookup,
): Promise<void> {
  for (const [name, param] of Object.entries(command.params)) {
    if (param.from === undefined || param.from === "user" || known[name] !== undefined) continue;
    const object = await objectAt(param.from);
    const [field, only] = param.onlyIf ?? [];
    if (field !== undefined && fromObject(field, object) !== only) continue;
    const value = fromObject(param.from, object);
    if (value === undefined && field !== undefined) {
      const label = labelOf(command, name, param);
      throw usageError(command, `${label} is required: there is no current value to keep`);
    }
    if (value === undefined) continue;
    known[name] = value;
    await lookup.trace(1, `${name} ${JSON.stringify(value)} (from the ${nounOf(param.from)})`);
  }
}

/** Does the value require another one that is missing? */
export const lacksNeeded = (name: string, { needs }: Param, known: Values): boolean =>
  needs !== undefined && known[name] === needs[0] && known[needs[1]] === undefined;

/** Throws for a technique that needs a model if the workspace has no default one. */
async function requireModel(
  command: Command,
  typed: Values,
  known: Values,
  { objectAt, lookup }: { readonly objectAt: ObjectOf; readonly lookup: Lookup },
): Promise<void> {
  for (const [name, param] of Object.entries(command.params)) {
    if (typed[name] === undefined || !param.needs || !lacksNeeded(name, param, known)) continue;
    const has = param.lockedBy && fromObject(param.lockedBy, await objectAt(param.lockedBy));
    if (has !== undefined) continue;
    const list = await import("../../operations/models.ts");
    const models = await lookup.one(list.listModels, { model_type: "text-embedding" });
    if (!Array.isArray(models) || models.length > 0) continue;
    const { withoutModel } = await import("../../commands/kb/models/index.ts");
    throw withoutModel(flagNamed(command, param.needs[1]), []);
  }
}

/**
 * The chunking rule to send for a document form that requires one: without it, or with another mode,
 * the server creates a document without chunks (server §9.8). Undefined if the form needs none, or
 * the given or stored rule has the mode. Throws usage for a given rule with another mode.
 */
async function fittingRule(command: Command, known: Values, lookup: Lookup): Promise<unknown> {
  const param = command.params["process_rule"];
  const rule = param?.defaultByForm?.[String(known["doc_form"])];
  if (!param || rule === undefined) return undefined;
  const given = known["process_rule"];
  if (given === undefined)
    return (await storedMode(known, lookup)) === rule.mode ? undefined : rule;
  if (valueAt(given, "mode") === rule.mode) return undefined;
  throw usage(
    `${labelOf(command, "process_rule", param)} requires the mode ${rule.mode} for ${String(known["doc_form"])} documents`,
    "remove it to use the default rule",
  );
}

/** The chunking rule for the first document of a knowledge base, where the server has none to apply. */
async function firstRule(command: Command, known: Values, objectAt: ObjectOf): Promise<unknown> {
  const rule = command.params["process_rule"]?.firstValue;
  if (rule === undefined || known["process_rule"] !== undefined) return undefined;
  const count = "kb.document_count";
  return fromObject(count, await objectAt(count)) === 0 ? rule : undefined;
}

/** Mode of the rule that the server uses by default; undefined if unknown. */
async function storedMode(known: Values, lookup: Lookup): Promise<unknown> {
  const { dataset_id, document_id } = known;
  try {
    if (document_id !== undefined) {
      const document = await lookup.one(getDocument, { dataset_id, document_id });
      return valueAt(document, "document_process_rule.mode");
    }
    // A knowledge base does not include its newest rule, its documents do.
    const listed = await lookup.one(listDocuments, { dataset_id });
    const newest: unknown = Array.isArray(listed) ? listed[0] : undefined;
    if (!isObject(newest)) return undefined;
    const one = { dataset_id, document_id: newest["id"] };
    return valueAt(await lookup.one(getDocument, one), "dataset_process_rule.mode");
  } catch (error) {
    if (error instanceof CliError && ["not-found", "failure"].includes(error.kind))
      return undefined;
    throw error;
  }
}
