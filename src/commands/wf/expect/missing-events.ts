import type { RunTrace } from "../../../runs/trace.ts";
import { meetsLimit } from "../../conditions/index.ts";
import type { Limit, Result } from "../../conditions/index.ts";

/** Why a check of nodes is not met if there are none. */
export function withoutNodes({ isReply, nodesMissing }: RunTrace): string {
  if (isReply) return "this application has no nodes, so no steps";
  return nodesMissing
    ? "node events are missing: following started late, the connection was lost at the end, or the recording is damaged"
    : "no node ran";
}

/** Why a check is not met for events that no snapshot contains (server §15.6). */
const eventsUnknown = "events are missing, so retries and pauses may have been missed";

/** A result that is undecided if what it is based on is missing. */
const unless = (missing: boolean, why: string, result: Result): Result =>
  missing ? { passed: undefined, actual: result.passed ? why : result.actual } : result;

/** The result is certain only if the events of all nodes were received; a basic chat has none. */
export const ifAllNodesSeen = (trace: RunTrace, result: Result): Result =>
  unless(trace.nodesMissing && !trace.isReply, withoutNodes(trace), result);

/** The result is certain only if the whole run was followed. */
export const ifAllEventsSeen = (trace: RunTrace, result: Result): Result =>
  unless(trace.unwatched, eventsUnknown, ifAllNodesSeen(trace, result));

/** The result for a count of which some may be missing, so that only a lower limit can be met. */
export function countWithin(
  count: number,
  limit: Limit,
  actual: string,
  ifAllSeen: (result: Result) => Result,
): Result {
  const passed = meetsLimit(limit, count);
  const result = { passed, actual };
  return passed && meetsLimit(limit, Infinity) ? result : ifAllSeen(result);
}
