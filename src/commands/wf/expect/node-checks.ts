import { didYouMean } from "../../../lib/did-you-mean.ts";
import { plural, inSeconds, quoted, within } from "./check.ts";
import type { Amount, CheckResult } from "./check.ts";
import { ofAllNodes, ofAllTime, unseen } from "./run-checks.ts";
import type { NodeRun, RunTrace } from "../../../runs/trace.ts";

/** How a sentence names nodes: by title or id, or by type. */
export interface NodeName {
  readonly text: string;
  readonly byType: boolean;
}

/** Each time nodes of that name ran, in the order in which they began. */
function runsOf({ nodes }: RunTrace, { text, byType }: NodeName): readonly NodeRun[] {
  const whole = nodes.filter((node, index) => !isTakenUp(node, nodes, index));
  if (byType) return whole.filter(({ type }) => type === text);
  const titled = whole.filter(({ title }) => title === text);
  return titled.length > 0 ? titled : whole.filter(({ nodeId }) => nodeId === text);
}

/** A node that waited for a person starts again under its old id (server §15.6). */
const isTakenUp = (node: NodeRun, nodes: readonly NodeRun[], index: number): boolean =>
  node.finishedAt === undefined && nodes.slice(index + 1).some(({ id }) => id === node.id);

const absent = (trace: RunTrace, { text, byType }: NodeName): CheckResult => {
  if (trace.nodes.length === 0) return { passed: false, actual: unseen };
  const known = [...new Set(trace.nodes.map(({ type, title }) => (byType ? type : title)))];
  const near = didYouMean(text, known);
  const meant = near === undefined ? "" : ` (did you mean ${quoted(near)}?)`;
  const list = known.slice(0, 20).map(quoted).join(", ");
  const what = byType ? "node of this type" : "such node";
  return { passed: false, actual: `no ${what} ran${meant}, only ${list}` };
};

/** The finding of the first run of the node that fails, or of the last one if all runs were seen. */
function ofEach(
  trace: RunTrace,
  name: NodeName,
  test: (node: NodeRun) => CheckResult,
): CheckResult {
  const findings = runsOf(trace, name).map(test);
  const failed = findings.findIndex(({ passed }) => !passed);
  const info = findings[failed] ?? findings.at(-1);
  if (info === undefined) return absent(trace, name);
  if (findings.length === 1) return ofAllNodes(trace, info);
  const which = info.passed ? `${findings.length} times, the last time` : `time ${failed + 1}`;
  return ofAllNodes(trace, { ...info, actual: `${which} ${info.actual}` });
}

/** Statuses that each word of a sentence stands for: an exception is a failure that was caught. */
export const nodeEnds = {
  succeeded: ["succeeded"],
  failed: ["failed", "exception"],
  stopped: ["stopped"],
} as const;

/** Did the node end like this each time, each time within the limit? */
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

/** Is the run over, with a gap in which the end of a node can lie? */
const endUnseen = ({ gaps, status }: RunTrace): boolean =>
  gaps > 0 && (status === "succeeded" || status === "partial-succeeded");

/** Did an event tell its start, or its end alone? */
const startSeen = ({ beganWith, endedWith }: NodeRun): boolean => beganWith !== endedWith;

const eventLost = "it cannot be told: an event was lost";

/** Did the node take that long, each time? */
export const nodeTook = (trace: RunTrace, name: NodeName, limit: Amount): CheckResult =>
  ofEach(trace, name, (node) => nodeTime(node, limit, trace));

function nodeTime(node: NodeRun, limit: Amount, trace: RunTrace): CheckResult {
  if (node.finishedAt === undefined) return { passed: false, actual: stateOf(node, trace) };
  const seconds = node.elapsed ?? (node.finishedAt - node.startedAt) / 1000;
  return { passed: within(limit, seconds), actual: `it took ${inSeconds(seconds)}`, seconds };
}

/** How often the node ran; that it ran no more often can only be said when all nodes were seen. */
export function nodeRan(trace: RunTrace, name: NodeName, amount: Amount): CheckResult {
  const count = runsOf(trace, name).length;
  const passed = within(amount, count);
  if (count === 0 && !within(amount, 0)) return absent(trace, name);
  const actual = count === 0 ? "it did not run" : `it ran ${plural(count, "time")}`;
  return within(amount, Infinity) ? { passed, actual } : ofAllNodes(trace, { passed, actual });
}

/** How often the node was retried, each time it ran. */
export const nodeRetried = (trace: RunTrace, name: NodeName, amount: Amount): CheckResult =>
  ofEach(trace, name, ({ retries }) => {
    const passed = within(amount, retries);
    const actual = `it was ${retries === 0 ? "not retried" : `retried ${plural(retries, "time")}`}`;
    return within(amount, Infinity) ? { passed, actual } : ofAllTime(trace, { passed, actual });
  });

/** Tokens of all the times the node ran together. */
export function nodeUsed(trace: RunTrace, name: NodeName, amount: Amount): CheckResult {
  const runs = runsOf(trace, name);
  if (runs.length === 0) return absent(trace, name);
  if (runs.every(({ tokens }) => tokens === undefined))
    return { passed: false, actual: "the server did not count its tokens" };
  const tokens = runs.reduce((sum, node) => sum + (node.tokens ?? 0), 0);
  const finding = { passed: within(amount, tokens), actual: `it used ${plural(tokens, "token")}` };
  return within(amount, Infinity) ? finding : ofAllNodes(trace, finding);
}

/** Had the one ended when the other began, the first time that each ran? */
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
  const late = `${quoted(first.title)} had not ended when ${quoted(second.title)} began`;
  const actual = ordered ? "they ran in this order" : late;
  return ofAllNodes(trace, { passed: ordered, actual });
}
