import { relative, resolve } from "node:path";
import type { EventStage } from "../../../api/sse.ts";
import type { CliError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { signsFor } from "../../../lib/environment.ts";
import { junitText } from "../../../lib/formats/junit.ts";
import type { Input } from "../../../operations/operation.ts";
import { endingOf, raiseOutcome } from "../../../runs/outcome.ts";
import { RunTrace } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";
import { prepareOutput, writeOutput } from "../../task/files.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import { readExpectFile } from "./yaml-file.ts";
import {
  checkExpectation,
  gateError,
  namedEnds,
  notMet,
  parseExpectation,
  runSucceeded,
  traceEvents,
} from "./run-scope.ts";
import type { CheckedExpectation, Expectation } from "./run-scope.ts";
import type { expectParams } from "./params.ts";

/** The expectations about a run, the name of their suite, and the file for JUnit XML. */
export type Expectations = Awaited<ReturnType<typeof readExpectations>>;

/**
 * Reads sentences and files of expectations. Throws `usage`, before anything is sent, for invalid ones
 * and for a JUnit path that cannot be written.
 */
export async function readExpectations(
  { expect: args = [], junit }: Input<typeof expectParams>,
  { host }: Context,
) {
  const checks: Expectation[] = [];
  const names: string[] = [];
  for (const arg of args) {
    if (/\.ya?ml$/i.test(arg)) {
      const file = await readExpectFile(arg, host.files);
      checks.push(...file.checks);
      if (file.name !== undefined) names.push(file.name);
    } else checks.push(parseExpectation(arg, "--expect"));
  }
  if (junit !== undefined) await prepareOutput(`--junit ${junit}`, junit, host);
  return { suite: names.join(", ") || "expectations", checks, junit };
}

const isRequested = ({ checks, junit }: Expectations): boolean =>
  checks.length > 0 || junit !== undefined;

/**
 * A stage that collects the trace of a run. If the run ends early, the JUnit file reports that. Call
 * `report` after the last event: it checks the expectations and throws the outcome.
 */
export function evaluate<Result extends FollowResult>(
  expectations: Expectations,
  context: Context,
): EventStage<Result> & { readonly trace: RunTrace; report(): Promise<void> } {
  const trace = new RunTrace();
  let followed: Result | undefined;
  const end = (result: Result) => {
    followed = result;
  };
  const report = async () => {
    if (followed) await expectationReport({ ...followed, trace }, expectations, context);
  };
  if (!isRequested(expectations)) return { trace, end, report };
  return {
    trace,
    ...traceEvents(trace, context),
    end,
    failed: (error) =>
      reportUnchecked(
        expectations,
        error instanceof Error ? error.message : String(error),
        context,
      ),
    async abandoned() {
      // Unchecked expectations must not pass.
      const why = "the output was not read to its end";
      await reportUnchecked(expectations, why, context);
      if (expectations.checks.length > 0)
        throw gateError(`the expectations were not checked: ${why}`);
    },
    report,
  };
}

/**
 * Checks the expectations, reports the results, and throws `gate` if one is not met. Otherwise throws
 * the error for the outcome of the run, unless an expectation names that end. A run that is waiting
 * for human input is only checked if an expectation names the pause.
 */
async function expectationReport(
  { runId, outcome, trace }: FollowResult & { readonly trace: RunTrace },
  expectations: Expectations,
  context: Context,
): Promise<void> {
  const raise = () => raiseOutcome(runId, outcome, context.notice);
  if (!isRequested(expectations)) return raise();
  const end = endingOf(outcome);
  const expectedEnds = expectations.checks.flatMap(namedEnds);
  if (end === "paused" && !expectedEnds.includes("paused")) {
    await reportUnchecked(expectations, "the run is waiting for human input", context);
    return raise();
  }
  const error = outcome.error ?? trace.error;
  const masked = error ? context.host.secrets.masked(error) : undefined;
  const final = Object.assign(trace, { status: end, error: masked });
  const checked = expectations.checks.map((each) => checkExpectation(each, final));
  const implicit = expectedEnds.length > 0 ? [] : [checkExpectation(runSucceeded, final)];
  await printResults(checked, context);
  const junitError = await writeJunit([...implicit, ...checked], expectations, context);
  try {
    if (checked.some(({ result }) => !result.passed)) throw notMet(runId, checked);
    if (expectedEnds.length === 0) await raise();
  } catch (failure) {
    if (junitError) await context.notice(junitError.message);
    throw failure;
  }
  if (junitError) throw junitError;
}

/** Prints the results, also as annotations on GitHub Actions. */
async function printResults(
  checked: readonly CheckedExpectation[],
  context: Context,
): Promise<void> {
  const { host } = context;
  for (const line of checkLines(checked, host.env)) await context.notice(line);
  if (host.env["GITHUB_ACTIONS"] !== "true") return;
  for (const line of annotations(checked, host)) await host.stderr.write(`${line}\n`);
}

/** Reports all expectations as not checked; the caller throws the reason. */
async function reportUnchecked(
  expectations: Expectations,
  why: string,
  context: Context,
): Promise<void> {
  const result = { passed: false, actual: `not checked: ${why}` };
  const checks = expectations.checks.length > 0 ? expectations.checks : [runSucceeded];
  const checked = checks.map((each) => ({ ...each, result }));
  const junitError = await writeJunit(checked, expectations, context);
  if (junitError) await context.notice(junitError.message);
  if (expectations.checks.length > 0) await context.notice("the expectations were not checked");
}

/** Writes the JUnit file. Returns the error if that fails. */
async function writeJunit(
  checked: readonly CheckedExpectation[],
  { junit, suite }: Expectations,
  { host }: Context,
): Promise<CliError | undefined> {
  if (junit === undefined) return undefined;
  return writeOutput("--junit", junit, junitOf(suite, checked), host).then(
    () => undefined,
    (error: CliError) => error,
  );
}

/** One line per check for the terminal: `✓ ok      run succeeded: it ended as succeeded`. */
function checkLines(checked: readonly CheckedExpectation[], env: Host["env"]): string[] {
  const { pass, fail } = signsFor(env);
  return checked.map(({ name, result: { passed, actual } }) => {
    const verdict = passed ? `${pass}ok    ` : `${fail}failed`;
    return `${verdict}  ${name}: ${actual}`;
  });
}

/** The checks as JUnit XML. */
const junitOf = (suite: string, checked: readonly CheckedExpectation[]): string =>
  junitText(
    suite,
    checked.map(({ name, result: { passed, actual, seconds } }) => ({
      name,
      seconds,
      failure: passed ? undefined : actual,
    })),
  );

/**
 * Failed checks as workflow commands of GitHub Actions, which shows them at their line of the file. A
 * runner also reads them from stderr.
 */
function annotations(
  checked: readonly CheckedExpectation[],
  { env, cwd }: Pick<Host, "env" | "cwd">,
): string[] {
  return checked
    .filter(({ result }) => !result.passed)
    .map(({ name, from, result }) => {
      const place = from && {
        file: relative(env["GITHUB_WORKSPACE"] || cwd, resolve(cwd, from.path)),
        line: String(from.line),
      };
      const properties = Object.entries({ title: "Expectation not met", ...place })
        .map(([key, value]) => `${key}=${property(value)}`)
        .join(",");
      return `::error ${properties}::${data(`${name}: ${result.actual}`)}`;
    });
}

// Results have no control characters, but names of checks and files may.
const data = (text: string): string =>
  text
    .replaceAll("%", "%25")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "\u{fffd}");

const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
