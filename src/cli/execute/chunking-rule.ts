import type { Values } from "../../api/request.ts";
import { CliError } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { getDocument, listDocuments } from "../../operations/documents.ts";
import { labelOf } from "../parse/input.ts";
import type { Command } from "../parse/command.ts";
import type { Lookup } from "./lookup.ts";

/**
 * The rule for chunking that a document of this form needs: with none, or with one of another mode,
 * the server makes a document without a single chunk (server §9.8). Undefined where nothing is to be
 * sent: another form, a rule was given, or the one that is stored fits. Throws usage for a given one
 * that does not fit.
 */
export async function fittingRule(
  command: Command,
  known: Values,
  lookup: Lookup,
): Promise<unknown> {
  const param = command.params["process_rule"];
  const wanted = param?.defaultByForm?.[String(known["doc_form"])];
  if (!param || wanted === undefined) return undefined;
  const given = known["process_rule"];
  if (given === undefined)
    return (await storedMode(known, lookup)) === wanted.mode ? undefined : wanted;
  if (valueAt(given, "mode") === wanted.mode) return undefined;
  throw new CliError(
    "usage",
    `${labelOf(command, "process_rule", param)} needs the mode ${wanted.mode} for ${String(known["doc_form"])} documents`,
    { sideEffect: "none", hint: "leave it out for the usual rule" },
  );
}

/** Mode of the rule that the server would take by itself; undefined where that is not known. */
async function storedMode(known: Values, lookup: Lookup): Promise<unknown> {
  const { dataset_id, document_id } = known;
  try {
    if (document_id !== undefined) {
      const document = await lookup.one(getDocument, { dataset_id, document_id });
      return valueAt(document, "document_process_rule.mode");
    }
    // A knowledge base does not show its newest rule, its documents do.
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
