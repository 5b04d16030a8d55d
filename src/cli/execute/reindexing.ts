import type { Values } from "../../api/request.ts";
import type { Context } from "../../commands/command-spec.ts";
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
