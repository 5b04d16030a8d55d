import { CliError, usage } from "../../../errors.ts";
import type { Report } from "../../../output/report-model.ts";
import { diffReport } from "./diff-report.ts";
import { compareRuns } from "./compare.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../command-spec.ts";
import { loadTrace } from "./load-trace.ts";
import type { diffParams } from "../specs.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** Compares two runs. With `exit_code`, throws `gate` as a result if they may differ. */
export async function* run(
  input: Input<typeof diffParams>,
  context: Context,
): AsyncGenerator<Report> {
  if (input.a === "-" && input.b === "-") throw usage("stdin (-) can only be used once");
  const limit = input.timing === undefined ? undefined : parsePercentage(input.timing);
  // Active runs are followed concurrently; otherwise the start of the second would be missed.
  const [a, b] = await Promise.all([loadTrace(input.a, context), loadTrace(input.b, context)]);
  const comparison = compareRuns(a, b, limit);
  yield diffReport(comparison);
  const problem = a.problem ?? b.problem;
  if (problem) throw problem;
  const { aspects, unknown } = comparison;
  if (!input.exit_code || aspects.length + unknown.length === 0) return;
  // An incomplete comparison must not pass as equal.
  const message =
    aspects.length > 0
      ? `the runs differ in ${aspects.join(", ")}`
      : `the runs cannot be compared completely: ${unknown.join(" and ")} unknown`;
  throw new CliError("gate", message, {
    isResult: true,
    details: { differences: aspects, not_compared: unknown },
    ...(aspects.length === 0 &&
      !unknown.includes("text") && {
        hint: `record the runs with ${commandLine("wf run", [], { record: "FILE" })}`,
      }),
  });
}

/** `20%` as 0.2. */
function parsePercentage(text: string): number {
  const percent = /^(\d+(?:\.\d+)?) ?%$/.exec(text)?.[1];
  if (percent === undefined)
    throw usage(`invalid --timing ${JSON.stringify(text)}: expected a percentage such as 20%`);
  return Number(percent) / 100;
}
