import { usage } from "../../../errors.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ConditionField, FieldKind, Scope } from "../../conditions/index.ts";
import type { BaselineComparison } from "./baseline.ts";
import type { evalParams } from "./command.ts";
import { metricNames } from "../../../lib/statistics/ranking-metrics.ts";
import { costs, isLatency, isMetric } from "./metrics.ts";
import type { VariantResult } from "./search.ts";

const defaultCutoffs = [1, 3, 5, 10];

/** The --k numbers or the usual ones, and those of conditions. Throws usage for more than the searches return. */
export function parseCutoffs(
  { k, fail_if = [] }: Pick<Input<typeof evalParams>, "k" | "fail_if">,
  topK: number,
): number[] {
  const required = (flag: string, ks: readonly number[]) => {
    const beyond = ks.find((each) => each > topK);
    if (beyond === undefined) return ks;
    const message = `invalid ${flag}${beyond}: a search returns at most ${topK} chunks`;
    throw usage(message, `add --top-k ${beyond}`);
  };
  const listed = k === undefined ? usualCutoffs(topK) : required("--k ", parseNumbers(k));
  const named = fail_if.flatMap((text) => [...text.matchAll(/@([1-9]\d{0,2})\b/g)]);
  return ascending([
    ...listed,
    ...required("--fail-if @", ascending(named.map(([, number]) => Number(number)))),
  ]);
}

/** The usual cutoffs up to what a search returns, and its end if that is fewer. */
const usualCutoffs = (topK: number): number[] => [
  ...defaultCutoffs.filter((k) => k <= topK),
  Math.min(topK, Math.max(...defaultCutoffs)),
];

/** Parses `1,3,5`. Throws usage. */
function parseNumbers(text: string): number[] {
  const words = text.split(",").map((word) => word.trim());
  const bad = words.find((word) => !/^[1-9]\d{0,2}$/.test(word));
  if (bad !== undefined) {
    throw usage(
      `invalid --k ${JSON.stringify(bad)}: not a positive whole number`,
      "for example --k 1,3,5",
    );
  }
  return ascending(words.map(Number));
}

const ascending = (numbers: readonly number[]): number[] =>
  [...new Set(numbers)].sort((a, b) => a - b);

/** Throws usage for a measure that is not measured: nothing would be compared. */
export function requireMeasure(measure: string | undefined, ks: readonly number[]): void {
  const names = metricNames(ks);
  if (measure !== undefined && !names.includes(measure))
    throw usage(
      `invalid --measure ${JSON.stringify(measure)}`,
      `valid values: ${names.join(", ")}; --k adds numbers of top documents`,
    );
}

/** The values of a variant that conditions are about, by name. */
type JudgedValues = Readonly<Record<string, number | null | undefined>>;

export const judgedValues = (
  { figures, failed, answers }: VariantResult,
  comparison: BaselineComparison | undefined,
): JudgedValues => ({
  ...figures,
  ...Object.fromEntries(
    (comparison?.figures ?? []).map(({ figure, change }) => [`${figure}.change`, change]),
  ),
  failed,
  missed: answers.filter(({ passed }) => !passed).length,
});

function kindOf(name: string): FieldKind {
  if (isLatency(name)) return "seconds";
  return isMetric(name) ? "share" : "number";
}

/** What conditions of --fail-if can be about: metrics, and with a baseline their changes. */
export function metricScope(ks: readonly number[], withBaseline: boolean): Scope<JudgedValues> {
  const metrics = [...metricNames(ks), ...costs];
  const field = (name: string, kind: FieldKind): [string, ConditionField<JudgedValues>] => {
    const read = (values: JudgedValues) => {
      const value = values[name] ?? undefined;
      const actual = value === undefined ? "not measured" : `value ${value}`;
      return { value, missing: "unknown" as const, actual };
    };
    return [name, { kind, read }];
  };
  const changes = withBaseline ? metrics.map((name) => field(`${name}.change`, "number")) : [];
  const figures = metrics.map((name) => field(name, kindOf(name)));
  const counts = ["failed", "missed"].map((name) => field(name, "number"));
  return { fields: Object.fromEntries([...figures, ...changes, ...counts]) };
}
