import { CliError } from "../../errors.ts";
import type { Section } from "../../output/report-model.ts";
import { parseCondition } from "./parser.ts";
import type { Scope } from "./parser.ts";

/** The result of a condition of --fail-if, as in JSON. */
export interface ConditionResult {
  readonly condition: string;
  /** The name of the subject if there can be several. */
  readonly label?: string;
  /** The figures that the condition names. */
  readonly figure: string;
  /** The value of the figure; null without data, or if the condition names several. */
  readonly value: number | null;
  /** The values of the figures as text. */
  readonly actual: string;
  readonly verdict: "passed" | "failed" | "unmeasured";
}

/** Parses the conditions of --fail-if, which must not hold. Throws `usage` with the position of a mistake. */
export const parseGate = <T>(texts: readonly string[], scope: Scope<T>) =>
  texts.map((text) => ({ text, check: parseCondition("--fail-if", text, scope) }));

/** A condition that holds fails the check. */
const verdicts = { true: "failed", false: "passed", undefined: "unmeasured" } as const;

/** Evaluates each condition for each subject. */
export const evaluateGate = <T>(
  conditions: ReturnType<typeof parseGate<T>>,
  { fields }: Scope<T>,
  subjects: readonly { readonly subject: T; readonly label?: string }[],
): ConditionResult[] =>
  conditions.flatMap(({ text, check }) => {
    const names = [...new Set(check.named.map(({ field }) => field))];
    const [only = ""] = names.length === 1 ? names : [];
    return subjects.map(({ subject, ...label }): ConditionResult => {
      const { passed, actual } = check.evaluate(subject);
      const value = fields[only]?.read(subject).value;
      return {
        condition: text,
        ...label,
        figure: names.join(", "),
        value: typeof value === "number" ? value : null,
        actual,
        verdict: verdicts[`${passed}`],
      };
    });
  });

/** The verdict of a failed check: exit code 14 after the result is printed. */
export const gateError = (message: string, details?: unknown, hint?: string): CliError =>
  new CliError("gate", message, { isResult: true, details, hint });

/**
 * The error for conditions that hold, and for those without data for any subject unless `allowed`: a
 * check without data must not pass. Undefined if all conditions pass.
 */
export function failedGate(
  results: readonly ConditionResult[],
  withoutData: { readonly allowed?: boolean; readonly hint?: string } = {},
): CliError | undefined {
  const measured = new Set(
    results.filter(({ verdict }) => verdict !== "unmeasured").map(({ condition }) => condition),
  );
  const failed = results.filter(({ verdict, condition }) =>
    verdict === "unmeasured"
      ? !withoutData.allowed && !measured.has(condition)
      : verdict === "failed",
  );
  if (failed.length === 0) return undefined;
  const reasons = failed.map(
    ({ condition, label, actual }) => `${condition} (${label ? `${label}: ` : ""}${actual})`,
  );
  return gateError(
    `${failed.length} of ${results.length} checks failed: ${reasons.join(", ")}`,
    { conditions: results },
    failed.every(({ verdict }) => verdict === "unmeasured") ? withoutData.hint : undefined,
  );
}

const tones = { passed: "good", failed: "bad", unmeasured: "warn" } as const;

/** The table of the results; none without conditions. */
export function gateSections(
  results: readonly ConditionResult[],
  format: (figure: string, value: number) => string,
): Section[] {
  if (results.length === 0) return [];
  const isLabelled = results.some(({ label }) => label);
  return [
    {
      title: "Conditions that must not hold",
      columns: [
        { label: "condition" },
        ...(isLabelled ? [{ label: "settings" }] : []),
        { label: "value", right: true },
        { label: "verdict" },
      ],
      rows: results.map(({ condition, label = "", figure, value, actual, verdict }) => {
        const several = verdict === "unmeasured" ? null : actual;
        return [
          condition,
          ...(isLabelled ? [label] : []),
          value === null ? several : format(figure, value),
          { text: verdict, tone: tones[verdict] },
        ];
      }),
    },
  ];
}
