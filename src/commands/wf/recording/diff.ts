import { CliError } from "../../../errors.ts";
import type { Report } from "../../../output/report-model.ts";
import { diffReport } from "./diff-report.ts";
import { compareRuns } from "./compare.ts";
import type { Context } from "../../command-spec.ts";
import { loadTrace } from "./load-trace.ts";

/** Input of `wf diff`. */
interface Input {
  readonly a: string;
  readonly b: string;
  readonly timing?: string | undefined;
  readonly exit_code?: boolean | undefined;
}

/** Compares two runs. Throws gate as a verdict where they differ and that was asked for. */
export async function* run(input: Input, context: Context): AsyncGenerator<Report> {
  if (input.a === "-" && input.b === "-") throw wrong("standard input can only be one of the two");
  const limit = input.timing === undefined ? undefined : shareIn(input.timing);
  // Runs that go on are followed side by side, or the second one's beginning would be missed.
  const [a, b] = await Promise.all([loadTrace(input.a, context), loadTrace(input.b, context)]);
  const compared = compareRuns(a, b, limit);
  yield diffReport(compared);
  const problem = a.problem ?? b.problem;
  if (problem) throw problem;
  const { aspects, unknown } = compared;
  if (!input.exit_code || aspects.length + unknown.length === 0) return;
  // What was not compared must not look the same.
  const message =
    aspects.length > 0
      ? `the runs differ in ${aspects.join(", ")}`
      : `cannot tell whether the runs are the same: ${unknown.join(" and ")} not known`;
  throw new CliError("gate", message, {
    isResult: true,
    details: { differences: aspects, not_compared: unknown },
    ...(aspects.length === 0 && { hint: "wf run --record FILE keeps what a diff needs" }),
  });
}

const wrong = (message: string, hint?: string): CliError =>
  new CliError("usage", message, { sideEffect: "none", hint });

/** 0.2 of `20%`. */
function shareIn(text: string): number {
  const percent = /^(\d+(?:\.\d+)?) ?%$/.exec(text)?.[1];
  if (percent === undefined)
    throw wrong(`--timing ${JSON.stringify(text)} is no percentage`, "it looks like 20%");
  return Number(percent) / 100;
}
