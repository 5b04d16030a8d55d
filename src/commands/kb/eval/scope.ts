import type { ConditionField, FieldKind, Scope } from "../../conditions/index.ts";
import type { BaselineComparison } from "./baseline.ts";
import { costs, isLatency, isMetric, metricNames } from "./metrics.ts";
import type { VariantResult } from "./search.ts";

/** A variant whose results conditions are about. */
interface JudgedVariant {
  readonly result: VariantResult;
  readonly comparison: BaselineComparison | undefined;
}

const field = (
  kind: FieldKind,
  valueOf: (variant: JudgedVariant) => number | null | undefined,
): ConditionField<JudgedVariant> => ({
  kind,
  read(variant) {
    const value = valueOf(variant) ?? undefined;
    return {
      value,
      missing: "unknown",
      actual: value === undefined ? "not measured" : `value ${value}`,
    };
  },
});

function kindOf(name: string): FieldKind {
  if (isLatency(name)) return "seconds";
  return isMetric(name) ? "share" : "number";
}

/** What conditions of --fail-if can be about: metrics, and with a baseline their changes. */
export function metricScope(ks: readonly number[], withBaseline: boolean): Scope<JudgedVariant> {
  const metrics = [...metricNames(ks), ...costs];
  const values = metrics.map((name) => [
    name,
    field(kindOf(name), ({ result }) => result.figures[name]),
  ]);
  const changes = metrics.map((name) => [
    `${name}.change`,
    field(
      "number",
      ({ comparison }) => comparison?.figures.find(({ figure }) => figure === name)?.change,
    ),
  ]);
  const failed = field("number", ({ result }) => result.failed);
  return {
    fields: Object.fromEntries([...values, ...(withBaseline ? changes : []), ["failed", failed]]),
  };
}
