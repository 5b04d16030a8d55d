import { didYouMean } from "../../../lib/did-you-mean.ts";
import { plural, inSeconds, quoted, within } from "./check.ts";
import type { Amount, CheckResult } from "./check.ts";
import { ifAllNodesSeen, ifAllEventsSeen, nodesUnknown } from "./run-checks.ts";
import type { NodeRun, RunTrace } from "../../../runs/trace.ts";

/** The name of nodes in a sentence: a title or ID, or a type. */
export interface NodeName {
  readonly text: string;
  readonly byType: boolean;
}

/** All executions of nodes with this name, in the order of their starts. */
function runsOf({ nodes }: RunTrace, { text, byType }: NodeName): readonly NodeRun[] {
  const complete = nodes.filter((node, index) => !isContinued(node, nodes, index));
  if (byType) return complete.filter(({ type }) => type === text);
  const titled = complete.filter(({ title }) => title === text);
  return titled.length > 0 ? titled : complete.filter(({ nodeId }) => nodeId === text);
}

/** Whether the node waited for human input; it then starts again with the same ID (server §15.6). */
const isContinued = (node: NodeRun, nodes: readonly NodeRun[], index: number): boolean =>
  node.finishedAt === undefined && nodes.slice(index + 1).some(({ id }) => id === node.id);

const absent = (trace: RunTrace, { text, byType }: NodeName): CheckResult => {
  if (trace.nodes.length === 0) return { passed: false, actual: nodesUnknown };
  const known = [...new Set(trace.nodes.map(({ type, title }) => (byType ? type : title)))];
  const near = didYouMean(text, known);
  const meant = near === undefined ? "" : ` (did you mean ${quoted(near)}?)`;
  const list = known.slice(0, 20).map(quoted).join(", ");
  const what = byType ? "node of this type" : "such node";
  return { passed: false, actual: `no ${what} ran${meant}, only ${list}` };
};

/** The first failed result of all executions of the node, or else the last one. */
function ofEach(
  trace: RunTrace,
  name: NodeName,
  test: (node: NodeRun) => CheckResult,
): CheckResult {
  const results = runsOf(trace, name).map(test);
  const failed = results.findIndex(({ passed }) => !passed);
  const info = results[failed] ?? results.at(-1);
  if (info === undefined) return absent(trace, name);
  if (results.length === 1) return ifAllNodesSeen(trace, info);
  const which = info.passed ? `${results.length} times, the last time` : `time ${failed + 1}`;
  return ifAllNodesSeen(trace, { ...info, actual: `${which} ${info.actual}` });
}

/** The statuses for each word of a sentence; an exception is a handled failure. */
export const nodeEnds = {
  succeeded: ["succeeded"],
  failed: ["failed", "exception"],
  stopped: ["stopped"],
} as const;

/** Whether every execution of the node ended like this, within the limit. */
export const nodeEnded = (
  trace: RunTrace,
  name: NodeName,
  end: keyof typeof nodeEnds,
  limit?: Amount,
): CheckResult =>
  ofEach(trace, name, (node) => {
    const statuses: readonly string[] = nodeEnds[end];
    if (statuses.includes(node.status))
      return limit === undefined
        ? { passed: true, actual: `it ${node.status === "exception" ? "failed" : node.status}` }
        : nodeTime(node, limit, trace);
    return { passed: false, actual: stateOf(node, trace) };
  });

function stateOf({ status, error }: NodeRun, trace: RunTrace): string {
  const why = error === undefined ? "" : `: ${quoted(error)}`;
  if (status === "running") return endUnseen(trace) ? eventLost : "it had not ended";
  return `its status is ${quoted(status)}${why}`;
}

/** Whether the run succeeded with a gap that may contain the end of a node. */
const endUnseen = ({ gaps, status }: RunTrace): boolean =>
  gaps > 0 && (status === "succeeded" || status === "partial-succeeded");

/** Whether the start event of the node was received, not only its end. */
const startSeen = ({ beganWith, endedWith }: NodeRun): boolean => beganWith !== endedWith;

const eventLost = "unknown: an event was lost";

/** Whether every execution of the node took this long. */
export const nodeTook = (trace: RunTrace, name: NodeName, limit: Amount): CheckResult =>
  ofEach(trace, name, (node) => nodeTime(node, limit, trace));

function nodeTime(node: NodeRun, limit: Amount, trace: RunTrace): CheckResult {
  if (node.finishedAt === undefined) return { passed: false, actual: stateOf(node, trace) };
  const seconds = node.elapsed ?? (node.finishedAt - node.startedAt) / 1000;
  return { passed: within(limit, seconds), actual: `it took ${inSeconds(seconds)}`, seconds };
}

/** Whether the node ran this often. An upper limit needs the events of all nodes. */
export function nodeRan(trace: RunTrace, name: NodeName, amount: Amount): CheckResult {
  const count = runsOf(trace, name).length;
  const passed = within(amount, count);
  if (count === 0 && !within(amount, 0)) return absent(trace, name);
  const actual = count === 0 ? "it did not run" : `it ran ${plural(count, "time")}`;
  return within(amount, Infinity) ? { passed, actual } : ifAllNodesSeen(trace, { passed, actual });
}

/** Whether every execution of the node was retried this often. */
export const nodeRetried = (trace: RunTrace, name: NodeName, amount: Amount): CheckResult =>
  ofEach(trace, name, ({ retries }) => {
    const passed = within(amount, retries);
    const actual = `it was ${retries === 0 ? "not retried" : `retried ${plural(retries, "time")}`}`;
    return within(amount, Infinity)
      ? { passed, actual }
      : ifAllEventsSeen(trace, { passed, actual });
  });

/** Whether all executions of the node together used this many tokens. */
export function nodeUsed(trace: RunTrace, name: NodeName, amount: Amount): CheckResult {
  const runs = runsOf(trace, name);
  if (runs.length === 0) return absent(trace, name);
  if (runs.every(({ tokens }) => tokens === undefined))
    return { passed: false, actual: "the server did not count its tokens" };
  const tokens = runs.reduce((sum, node) => sum + (node.tokens ?? 0), 0);
  const result = { passed: within(amount, tokens), actual: `it used ${plural(tokens, "token")}` };
  return within(amount, Infinity) ? result : ifAllNodesSeen(trace, result);
}

/** Whether the first execution of one node ended before that of the other began. */
export function inOrder(trace: RunTrace, before: NodeName, after: NodeName): CheckResult {
  const [first] = runsOf(trace, before);
  const [second] = runsOf(trace, after);
  if (first === undefined) return absent(trace, before);
  if (second === undefined) return absent(trace, after);
  const ordered = first.endedWith !== undefined && first.endedWith < second.beganWith;
  const lost = first.endedWith === undefined ? endUnseen(trace) : !startSeen(first);
  if (lost || !startSeen(second)) return { passed: false, actual: eventLost };
  if (second.beganWith < first.beganWith)
    return { passed: false, actual: `${quoted(second.title)} began first` };
  const notEnded = `${quoted(first.title)} had not ended when ${quoted(second.title)} began`;
  const actual = ordered ? "they ran in this order" : notEnded;
  return ifAllNodesSeen(trace, { passed: ordered, actual });
}
