import { commandLine } from "../../../lib/command-line.ts";
import type { CliError } from "../../../errors.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import { gateError, parseCondition } from "../../conditions/index.ts";
import type { Check, Result } from "../../conditions/index.ts";
import { runScope } from "./run-scope.ts";

/** An expectation about a run. */
export interface Expectation {
  /** Its sentence. */
  readonly name: string;
  readonly check: Check<RunTrace>;
  /** Its position in a file. */
  readonly from?: { readonly path: string; readonly line: number } | undefined;
}

/** An expectation with its result; one that cannot be decided is not met. */
export interface CheckedExpectation extends Omit<Expectation, "check"> {
  readonly result: Result & { readonly passed: boolean };
}

/** Parses a condition of --expect. Throws `usage` with the source and the position of a mistake. */
export const parseExpectation = (text: string, source: string): Expectation => ({
  name: text.trim().replace(/\s+/g, " "),
  check: parseCondition(source, text, runScope),
});

/** The implicit expectation if none names the end of the run. */
export const runSucceeded: Expectation = {
  ...parseExpectation("run succeeded or run partial-succeeded", "default"),
  name: "run succeeded",
};

export function checkExpectation(
  { check, ...info }: Expectation,
  run: RunTrace,
): CheckedExpectation {
  const result = check.evaluate(run);
  return { ...info, result: { ...result, passed: result.passed === true } };
}

/** The ends of a run that an expectation names, which are then no errors by themselves. */
export const namedEnds = ({ check }: Expectation): unknown[] =>
  check.named.flatMap(({ field, equals }) => (field === "status" && equals ? [equals] : []));

/** The error for a run with expectations that are not met. */
export function notMet(runId: string, all: readonly CheckedExpectation[]): CliError {
  const failed = all.filter(({ result }) => !result.passed);
  const count =
    all.length === 1 ? "the expectation" : `${failed.length} of ${all.length} expectations`;
  return gateError(
    `run ${runId} did not meet ${count}: ${failed[0]?.name}: ${failed[0]?.result.actual}`,
    {
      run: runId,
      expectations: all.map(({ name, result }) => ({ check: name, ...result })),
    },
    `run ${commandLine("wf show", [runId])} for details`,
  );
}

export { gateError };
