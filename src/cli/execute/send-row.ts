import type { Values } from "../../api/request.ts";
import { invalidResponse } from "../../api/response-fields.ts";
import type { Context } from "../../commands/command-spec.ts";
import { CliError } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { updateKnowledgeBase } from "../../operations/knowledge.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Session } from "./session.ts";

/** Settings that make the server reindex a knowledge base. */
const indexSettings = ["indexing_technique", "embedding_model", "embedding_model_provider"];

/** Sends the request of a row; waits where it makes the server reindex a knowledge base. */
export async function callAndWait(
  row: AnyOperation,
  input: Values,
  extra: Values | undefined,
  session: Session,
): Promise<unknown> {
  const plain =
    row.id !== updateKnowledgeBase.id || indexSettings.every((name) => input[name] === undefined);
  if (plain) return session.call(row, input, { extra });
  const { changeSettings } = await import("../../commands/kb/models/index.ts");
  const call: Session["call"] = (each, values, options) =>
    session.call(each, values, each.id === row.id ? { ...options, extra } : options);
  // The input was checked against the row's own parameters.
  const context: Context = { ...session.context, call: call as Context["call"] };
  return changeSettings(input as never, context);
}

/**
 * The error of a write that the server accepted but failed to index: status 200 with the chunk status
 * `error` (server §9.7), or without any chunk. Undefined if all chunks are indexed, or the row has no
 * such status.
 */
export function indexingVerdict(
  row: AnyOperation,
  values: readonly unknown[],
): CliError | undefined {
  const { indexes } = row;
  if (!indexes) return undefined;
  const chunks = values.map((value) => valueAt(value, indexes.at));
  if (chunks.length === 0)
    return invalidResponse("no chunk was returned").with({ sideEffect: "unknown" });
  const failed = chunks.filter((chunk) => isObject(chunk) && chunk["status"] === "error");
  if (failed.length === 0) return undefined;
  const reason = valueAt(failed[0], "error");
  const why = typeof reason === "string" && reason !== "" ? reason : "the server gave no reason";
  const count =
    chunks.length === 1 ? "the chunk was" : `${failed.length} of ${chunks.length} chunks were`;
  const some = !indexes.dropped || failed.length < chunks.length;
  return new CliError(
    "remote-failed",
    `${count} not ${indexes.dropped ? "stored" : "indexed"}: ${why}`,
    {
      isResult: true,
      code: "remote-failed",
      sideEffect: some ? "applied" : "none",
      details: { failed },
    },
  );
}
