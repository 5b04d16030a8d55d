import { plural, inSeconds, quoted, within } from "./check.ts";
import type { Amount, CheckResult } from "./check.ts";
import type { RunTrace } from "../../../runs/trace.ts";

/** How a run can end or stand. */
export const ends = ["succeeded", "partial-succeeded", "failed", "stopped", "paused"] as const;

/** Did the run end like this, in time? */
export function ended(trace: RunTrace, status: string, limit?: Amount): CheckResult {
  const error = trace.error === undefined ? "" : `: ${quoted(trace.error)}`;
  const actual = `it ${trace.status === "paused" ? "is" : "ended as"} ${trace.status}${error}`;
  if (trace.status !== status) return { passed: false, actual };
  return limit === undefined ? { passed: true, actual } : took(trace, limit);
}

export function took(trace: RunTrace, limit: Amount): CheckResult {
  const seconds = secondsOf(trace);
  if (seconds === undefined) return { passed: false, actual: "duration unknown" };
  return { passed: within(limit, seconds), actual: `it took ${inSeconds(seconds)}`, seconds };
}

/** What the server measured; after a pause that is the last part only (server §13). */
function secondsOf({ pauses, elapsed, startedAt, lastAt }: RunTrace): number | undefined {
  if (pauses === 0 && elapsed !== undefined) return elapsed;
  if (startedAt === undefined || lastAt === undefined) return undefined;
  return (lastAt - startedAt) / 1000;
}

export function used(trace: RunTrace, unit: "tokens" | "steps", amount: Amount): CheckResult {
  const count = trace[unit];
  if (count === undefined) return { passed: false, actual: `the server did not count the ${unit}` };
  return {
    passed: within(amount, count),
    actual: `it used ${plural(count, unit.slice(0, -1))}`,
  };
}

/** What `no …` can speak of, and what there was of it. */
export const faults = {
  errors(trace: RunTrace): CheckResult {
    const bad = trace.nodes.find(({ status }) => status === "failed" || status === "exception");
    if (bad) {
      const error = bad.error === undefined ? "" : `: ${quoted(bad.error)}`;
      return { passed: false, actual: `node ${quoted(bad.title)} failed${error}` };
    }
    if (trace.error !== undefined)
      return { passed: false, actual: `the run has the error ${quoted(trace.error)}` };
    if (["failed", "partial-succeeded"].includes(trace.status))
      return { passed: false, actual: `the run ended as ${trace.status}` };
    return ofAllNodes(trace, { passed: true, actual: "there was none" });
  },
  gaps: ({ gaps }: RunTrace): CheckResult => none(gaps, "gap"),
  retries(trace: RunTrace): CheckResult {
    const first = trace.nodes.find(({ retries }) => retries > 0);
    if (first !== undefined) {
      const times = plural(first.retries, "time");
      return { passed: false, actual: `node ${quoted(first.title)} was retried ${times}` };
    }
    return ofAllTime(trace, { passed: true, actual: "there was none" });
  },
  pauses: (trace: RunTrace): CheckResult => ofAllTime(trace, none(trace.pauses, "pause")),
};

const none = (count: number, noun: string): CheckResult => ({
  passed: count === 0,
  actual: count === 0 ? "there was none" : `seen: ${plural(count, noun)}`,
});

/** Why nothing can be said of nodes that no event told of. */
export const unseen =
  "not every node was seen: watching began after the run did, the line was cut at its end, or the recording is damaged";

/** Why nothing can be said of what no snapshot tells (server §15.6). */
const unwatched =
  "not all of the run was watched, and nothing tells of retries and pauses meanwhile";

/** That something did not happen can only be said when all nodes were seen. */
export const ofAllNodes = (trace: RunTrace, finding: CheckResult): CheckResult =>
  finding.passed && trace.nodesMissing ? { passed: false, actual: unseen } : finding;

/** That nothing was retried and nobody waited can only be said when all of the run was watched. */
export const ofAllTime = (trace: RunTrace, finding: CheckResult): CheckResult =>
  finding.passed && trace.unwatched
    ? { passed: false, actual: unwatched }
    : ofAllNodes(trace, finding);
