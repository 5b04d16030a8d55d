import { plural, inSeconds, quoted, within } from "./check.ts";
import type { Amount, CheckResult } from "./check.ts";
import type { RunTrace } from "../../../runs/trace.ts";

/** The statuses of a run that can be expected. */
export const ends = ["succeeded", "partial-succeeded", "failed", "stopped", "paused"] as const;

/** Whether the run ended like this, within the limit. */
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

/** The server's duration, which covers only the last part after a pause (server §13). */
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

/** The checks of `no …`. */
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
    return ifAllNodesSeen(trace, { passed: true, actual: "none occurred" });
  },
  gaps: ({ gaps }: RunTrace): CheckResult => none(gaps, "gap"),
  retries(trace: RunTrace): CheckResult {
    const first = trace.nodes.find(({ retries }) => retries > 0);
    if (first !== undefined) {
      const times = plural(first.retries, "time");
      return { passed: false, actual: `node ${quoted(first.title)} was retried ${times}` };
    }
    return ifAllEventsSeen(trace, { passed: true, actual: "none occurred" });
  },
  pauses: (trace: RunTrace): CheckResult => ifAllEventsSeen(trace, none(trace.pauses, "pause")),
};

const none = (count: number, noun: string): CheckResult => ({
  passed: count === 0,
  actual: count === 0 ? "none occurred" : `${plural(count, noun)} occurred`,
});

/** Why a check fails if node events are missing. */
export const nodesUnknown =
  "node events are missing: following started late, the connection was lost at the end, or the recording is damaged";

/** Why a check fails for events that no snapshot contains (server §15.6). */
const eventsUnknown = "events are missing, so retries and pauses may have been missed";

/** Passes only if the events of all nodes were received. */
export const ifAllNodesSeen = (trace: RunTrace, result: CheckResult): CheckResult =>
  result.passed && trace.nodesMissing ? { passed: false, actual: nodesUnknown } : result;

/** Passes only if the whole run was followed. */
export const ifAllEventsSeen = (trace: RunTrace, result: CheckResult): CheckResult =>
  result.passed && trace.unwatched
    ? { passed: false, actual: eventsUnknown }
    : ifAllNodesSeen(trace, result);
