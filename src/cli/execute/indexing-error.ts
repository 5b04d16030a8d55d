import { CliError } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import type { AnyOperation } from "../../operations/operation.ts";

/**
 * The error of a write that the server accepted but failed to index: status 200 with the chunk status
 * `error` (server §9.7). Undefined if all chunks are indexed, or the row has no such status.
 */
export function indexingVerdict(
  row: AnyOperation,
  values: readonly unknown[],
): CliError | undefined {
  const { indexes } = row;
  if (!indexes) return undefined;
  const chunks = values.map((value) => valueAt(value, indexes.at));
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
