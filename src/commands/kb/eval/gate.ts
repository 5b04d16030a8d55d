import { CliError } from "../../../errors.ts";
import { evaluateCondition, parseCondition } from "../../condition.ts";
import type { Condition, FieldKind } from "../../condition.ts";
import type { BaselineComparison } from "./baseline.ts";
import { latencies, metricNames } from "./metrics.ts";
import type { Result } from "./search.ts";

/** A condition that must not hold, and what became of it with one way to search. */
export interface Verdict {
  readonly condition: string;
  readonly label: string;
  /** Null where nothing was measured. */
  readonly value: number | null;
  readonly verdict: "passed" | "failed" | "unmeasured";
}

/** End of the name of a difference to the baseline. */
const difference = ".change";

/** Reads `--fail-if`. Throws usage with the position of what does not fit. */
export function conditionsOf(
  texts: readonly string[],
  ks: readonly number[],
  withBaseline: boolean,
): Condition[] {
  const fields: Record<string, FieldKind> = {};
  for (const name of metricNames(ks)) fields[name] = "share";
  for (const name of latencies) fields[name] = "seconds";
  const compared = withBaseline ? Object.keys(fields) : [];
  for (const name of compared) fields[`${name}${difference}`] = "number";
  fields["failed"] = "number";
  return texts.map((text) => parseCondition("--fail-if", text, fields));
}

/** What became of the conditions with each way to search. */
export const verdictsOf = (
  conditions: readonly Condition[],
  results: readonly Result[],
  compared: readonly (BaselineComparison | undefined)[],
): Verdict[] =>
  conditions.flatMap((condition) =>
    results.map((result, index): Verdict => {
      const value = valueOf(condition.field, result, compared[index]);
      const verdict =
        value === null ? "unmeasured" : evaluateCondition(condition, value) ? "failed" : "passed";
      return { condition: condition.text, label: result.variant.label, value, verdict };
    }),
  );

function valueOf(
  field: string,
  result: Result,
  compared: BaselineComparison | undefined,
): number | null {
  if (field === "failed") return result.failed;
  if (!field.endsWith(difference)) return result.figures[field] ?? null;
  const name = field.slice(0, -difference.length);
  return compared?.figures.find(({ figure }) => figure === name)?.change ?? null;
}

/**
 * The error for conditions that hold, and for those that no way to search measured: a check that
 * measured nothing must not look like one that passed. Undefined when all is well.
 */
export function checkEvalConditions(verdicts: readonly Verdict[]): CliError | undefined {
  const measured = new Set(
    verdicts.filter(({ verdict }) => verdict !== "unmeasured").map(({ condition }) => condition),
  );
  const closed = verdicts.filter(
    ({ verdict, condition }) => verdict === "failed" || !measured.has(condition),
  );
  if (closed.length === 0) return undefined;
  const info = closed.map(({ condition, label, value }) => {
    const where = label === "" ? "" : `${label}: `;
    return `${condition} (${where}${value === null ? "nothing was measured" : `it is ${value}`})`;
  });
  const { length } = verdicts;
  return new CliError("gate", `${closed.length} of ${length} checks failed: ${info.join(", ")}`, {
    isResult: true,
    details: { conditions: verdicts },
  });
}
