import { CliError } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import type { AnyOperation } from "../../operations/operation.ts";

/**
 * The error for what a write gave where the server took it and could not index it: it answers 200
 * with the status `error` (server §9.7). Undefined where all is well, or the row tells no status.
 */
export function indexingVerdict(
  row: AnyOperation,
  values: readonly unknown[],
): CliError | undefined {
  const { indexes } = row;
  if (!indexes) return undefined;
  const things = values.map((value) => valueAt(value, indexes.at));
  const failed = things.filter((thing) => isObject(thing) && thing["status"] === "error");
  if (failed.length === 0) return undefined;
  const reason = valueAt(failed[0], "error");
  const why = typeof reason === "string" && reason !== "" ? reason : "the server gave no reason";
  const count =
    things.length === 1 ? "the chunk was" : `${failed.length} of ${things.length} chunks were`;
  const some = !indexes.dropped || failed.length < things.length;
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
