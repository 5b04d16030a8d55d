import type { EventBatches } from "../../../api/sse.ts";
import { CliError, reasonOf } from "../../../errors.ts";
import { quoted } from "./check.ts";
import type { Check, CheckResult } from "./check.ts";
import type { CheckedExpectation } from "./report.ts";
import { runTrace } from "../../../runs/trace.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import { prepareOutput } from "../../output-path.ts";
import { redactKeys } from "../../../redact/recordings.ts";
import { raiseOutcome, endingOf } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** What is expected of a run, and where that is written. */
export interface Expectations {
  /** Name of the suite in JUnit XML. */
  readonly suite: string;
  readonly checks: readonly Check[];
  /** File for JUnit XML. */
  readonly junit: string | undefined;
}

/** Values of `--expect` and `--junit`. */
export interface ExpectInput {
  readonly expect?: readonly string[] | undefined;
  readonly junit?: string | undefined;
}

/**
 * Reads sentences and files of expectations. Throws usage, before anything is sent, for what cannot
 * be understood and for a JUnit file that could not be written.
 */
export async function readExpectations(
  { expect: given = [], junit }: ExpectInput,
  { host }: Context,
): Promise<Expectations> {
  const checks: Check[] = [];
  const names: string[] = [];
  for (const each of given) {
    if (/\.ya?ml$/i.test(each)) {
      const { readExpectFile } = await import("./yaml-file.ts");
      const file = await readExpectFile(each, host.files);
      checks.push(...file.checks);
      if (file.name !== undefined) names.push(file.name);
    } else {
      const { parseCheck } = await import("./parser.ts");
      checks.push(parseCheck(each, "--expect"));
    }
  }
  if (junit !== undefined) await prepareOutput(`--junit ${junit}`, junit, host);
  return { suite: names.join(", ") || "expectations", checks, junit };
}

const isAsked = ({ checks, junit }: Expectations): boolean =>
  checks.length > 0 || junit !== undefined;

/**
 * Passes the events of a run on and watches them; returns what they return and what they told.
 * However it ends early, the JUnit file says so.
 */
export async function* evaluateWhileFollowing<T>(
  events: EventBatches<T>,
  expectations: Expectations,
  context: Context,
): EventBatches<T & { readonly trace: RunTrace }> {
  const { add, trace } = runTrace();
  if (!isAsked(expectations)) return { ...(yield* events), trace };
  let open = true;
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) {
        open = false;
        return { ...next.value, trace };
      }
      const { now, secrets } = context.host;
      const time = now().getTime();
      // What is found is written to reports and told.
      for (const event of next.value) add(redactKeys(event, secrets), event.at ?? time);
      yield next.value;
    }
  } catch (error) {
    open = false;
    await unchecked(expectations, error instanceof Error ? error.message : String(error), context);
    throw error;
  } finally {
    if (open) await abandoned(events, expectations, context);
  }
}

/** Nobody reads on: a gate must not pass that nobody went through. */
async function abandoned(
  events: AsyncGenerator<unknown, unknown>,
  expectations: Expectations,
  context: Context,
): Promise<void> {
  await events.return(undefined).catch(() => {});
  const why = "the output was not read to its end";
  await unchecked(expectations, why, context);
  if (expectations.checks.length > 0)
    throw new CliError("gate", `the expectations were not checked: ${why}`, { isResult: true });
}

/** A run that was watched to its end. */
export interface Watched {
  readonly runId: string;
  readonly outcome: RunOutcome;
  readonly trace: RunTrace;
}

/**
 * Checks what was expected, says so and ends the command. Failed expectations end it with `gate`.
 * Where they are met, so does what became of the run (conclude), unless they speak of that end
 * themselves; a run that waits for a person is checked only by expectations that speak of the pause.
 */
export async function expectationReport(
  { runId, outcome, trace }: Watched,
  expectations: Expectations,
  context: Context,
): Promise<void> {
  const end = endingOf(outcome);
  const spoken = expectations.checks.flatMap((check) => check.end ?? []);
  const judge = () => raiseOutcome(runId, outcome, context.notice);
  if (!isAsked(expectations)) return judge();
  if (end === "paused" && !spoken.includes("paused")) {
    await unchecked(expectations, "the run waits for a person", context);
    return judge();
  }
  const error = outcome.error ?? trace.error;
  const seen = { ...trace, status: end, error: error && context.host.secrets.masked(error) };
  const checked = expectations.checks.map((check) => ({ check, finding: check.evaluate(seen) }));
  const own = spoken.length > 0 ? [] : [{ check: goodEnd, finding: goodEnd.evaluate(seen) }];
  const failed = checked.filter(({ finding }) => !finding.passed);
  await say(checked, context);
  const unwritten = await save([...own, ...checked], expectations, context);
  try {
    if (failed.length > 0) throw notMet(runId, failed, checked);
    if (spoken.length === 0) await judge();
  } catch (error) {
    if (unwritten) await context.notice(unwritten.message);
    throw error;
  }
  if (unwritten) throw unwritten;
}

/** What is expected of every run of whose end nothing is said. */
const goodEnd: Check = {
  name: "run succeeded",
  evaluate: ({ status, error }): CheckResult => ({
    passed: status === "succeeded" || status === "partial-succeeded",
    actual: `it ended as ${status}${error === undefined ? "" : `: ${quoted(error)}`}`,
  }),
};

const notMet = (
  runId: string,
  failed: readonly CheckedExpectation[],
  all: readonly CheckedExpectation[],
): CliError => {
  const [first] = failed;
  const count =
    all.length === 1 ? "the expectation" : `${failed.length} of ${all.length} expectations`;
  return new CliError(
    "gate",
    `run ${runId} did not meet ${count}: ${first?.check.name}: ${first?.finding.actual}`,
    {
      isResult: true,
      details: {
        run: runId,
        expectations: all.map(({ check, finding }) => ({ check: check.name, ...finding })),
      },
      hint: `wf show ${runId} has the detail`,
    },
  );
};

/** Tells people and GitHub what became of the checks. */
async function say(checked: readonly CheckedExpectation[], context: Context): Promise<void> {
  const { host } = context;
  const { annotations, checkLines } = await import("./report.ts");
  for (const line of checkLines(checked, host.env)) await context.notice(line);
  if (host.env["GITHUB_ACTIONS"] !== "true") return;
  for (const line of annotations(checked, host)) await host.stderr.write(`${line}\n`);
}

/** Says of all checks that they could not be made; the reason ends the command by itself. */
async function unchecked(expectations: Expectations, why: string, context: Context): Promise<void> {
  const finding = { passed: false, actual: `not checked: ${why}` };
  const checks = expectations.checks.length > 0 ? expectations.checks : [goodEnd];
  const checked = checks.map((check) => ({ check, finding }));
  const unwritten = await save(checked, expectations, context);
  if (unwritten) await context.notice(unwritten.message);
  if (expectations.checks.length > 0) await context.notice("the expectations were not checked");
}

/** Writes the JUnit file; gives why it could not. */
async function save(
  checked: readonly CheckedExpectation[],
  { junit, suite }: Expectations,
  context: Context,
): Promise<CliError | undefined> {
  if (junit === undefined) return undefined;
  const { junitOf } = await import("./report.ts");
  try {
    await context.host.files.writeAtomic(junit, junitOf(suite, checked));
    return undefined;
  } catch (cause) {
    return new CliError("failure", `--junit ${junit} cannot be written: ${reasonOf(cause)}`, {
      cause,
      isResult: true,
    });
  }
}
