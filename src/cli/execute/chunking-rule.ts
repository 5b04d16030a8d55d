import type { Values } from "../../api/request.ts";
import { CliError, usage } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { getDocument, listDocuments } from "../../operations/documents.ts";
import { labelOf } from "../parse/input.ts";
import type { Command } from "../parse/command.ts";
import type { Lookup } from "./lookup.ts";

/**
 * The chunking rule to send for a document form that requires one: without it, or with another mode,
 * the server creates a document without chunks (server §9.8). Undefined if the form needs none, or
 * the given or stored rule has the mode. Throws usage for a given rule with another mode.
 */
export async function fittingRule(
  command: Command,
  known: Values,
  lookup: Lookup,
): Promise<unknown> {
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
