import { didYouMean } from "../../../lib/did-you-mean.ts";
import { counted } from "../../../lib/text.ts";
import { isSuccess } from "../../../runs/outcome.ts";
import type { NodeRun, RunTrace } from "../../../runs/trace.ts";
import { meetsLimit, readAmount, readDuration, readTimeLimit } from "../../conditions/index.ts";
import type { ConditionReader, Forms, Limit, Result } from "../../conditions/index.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** The name of nodes in a sentence: a title or ID, or a type. */
interface NodeName {
  readonly text: string;
  readonly byType: boolean;
}

/** Checks the nodes of a run. */
type Evaluate = (trace: RunTrace) => Result;

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
function countWithin(
  count: number,
  limit: Limit,
  actual: string,
  ifAllSeen: (result: Result) => Result,
): Result {
  const passed = meetsLimit(limit, count);
  const result = { passed, actual };
  return passed && meetsLimit(limit, Infinity) ? result : ifAllSeen(result);
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

const absent = (trace: RunTrace, { text, byType }: NodeName): Result => {
  if (trace.nodes.length === 0) return { passed: undefined, actual: withoutNodes(trace) };
  const known = [...new Set(trace.nodes.map(({ type, title }) => (byType ? type : title)))];
  const near = didYouMean(text, known);
  const meant = near === undefined ? "" : ` (did you mean ${quoted(near)}?)`;
  const list = known.slice(0, 20).map(quoted).join(", ");
  const what = byType ? "node of this type" : "such node";
  return { passed: undefined, actual: `no ${what} ran${meant}, only ${list}` };
};

/** The first result that is not met of all executions of the node, or else the last one. */
const ofEach =
  (name: NodeName, test: (node: NodeRun, trace: RunTrace) => Result): Evaluate =>
  (trace) => {
    const results = runsOf(trace, name).map((node) => test(node, trace));
    const failed = results.findIndex(({ passed }) => !passed);
    const info = results[failed] ?? results.at(-1);
    if (info === undefined) return absent(trace, name);
    if (results.length === 1) return ifAllNodesSeen(trace, info);
    const which = info.passed ? `${results.length} times, the last time` : `time ${failed + 1}`;
    return ifAllNodesSeen(trace, { ...info, actual: `${which} ${info.actual}` });
  };

/** Whether every execution of the node ended like this, within the limit. */
const nodeEnded = (name: NodeName, end: string, limit: Limit | undefined): Evaluate =>
  ofEach(name, (node, trace) => {
    // An exception is a handled failure.
    const status = node.status === "exception" ? "failed" : node.status;
    if (status !== end) return notEnded(node, trace);
    return limit ? nodeTime(node, limit, trace) : { passed: true, actual: `it ${status}` };
  });

function notEnded({ status, error }: NodeRun, trace: RunTrace): Result {
  if (status !== "running")
    return { passed: false, actual: `its status is ${quoted(status)}${because(error)}` };
  if (endUnseen(trace)) return { passed: undefined, actual: eventLost };
  return { passed: false, actual: "it had not ended" };
}

/** Whether the run succeeded with a gap that may contain the end of a node. */
const endUnseen = ({ gaps, status }: RunTrace): boolean => gaps > 0 && isSuccess(status);

/** Whether the start event of the node was received, not only its end. */
const startSeen = ({ beganWith, endedWith }: NodeRun): boolean => beganWith !== endedWith;

const eventLost = "unknown: an event was lost";

function nodeTime(node: NodeRun, limit: Limit, trace: RunTrace): Result {
  if (node.finishedAt === undefined) return notEnded(node, trace);
  const seconds = node.elapsed ?? (node.finishedAt - node.startedAt) / 1000;
  return { passed: meetsLimit(limit, seconds), actual: `it took ${inSeconds(seconds)}`, seconds };
}

/** Whether the node ran this often. An upper limit needs the events of all nodes. */
const nodeRan =
  (name: NodeName, limit: Limit): Evaluate =>
  (trace) => {
    const count = runsOf(trace, name).length;
    const ran = count === 0 ? "it did not run" : `it ran ${counted(count, "time")}`;
    const actual = count === 0 && !meetsLimit(limit, 0) ? absent(trace, name).actual : ran;
    return countWithin(count, limit, actual, (result) => ifAllNodesSeen(trace, result));
  };

/** Whether every execution of the node was retried this often. */
const nodeRetried = (name: NodeName, limit: Limit): Evaluate =>
  ofEach(name, ({ retries }, trace) => {
    const actual = `it was ${retries === 0 ? "not retried" : `retried ${counted(retries, "time")}`}`;
    return countWithin(retries, limit, actual, (result) => ifAllEventsSeen(trace, result));
  });

/** Whether all executions of the node together used this many tokens. */
const nodeUsed =
  (name: NodeName, limit: Limit): Evaluate =>
  (trace) => {
    const runs = runsOf(trace, name);
    if (runs.length === 0) return absent(trace, name);
    if (runs.every(({ tokens }) => tokens === undefined))
      return { passed: undefined, actual: "the server did not count its tokens" };
    const tokens = runs.reduce((sum, node) => sum + (node.tokens ?? 0), 0);
    return countWithin(tokens, limit, `it used ${counted(tokens, "token")}`, (result) =>
      ifAllNodesSeen(trace, result),
    );
  };

/** Reads `"Title"`, a word, or `type llm`. */
export function readNode(reader: ConditionReader): NodeName {
  const byType = reader.takes("type") !== undefined;
  return { text: reader.name(), byType };
}

/** Reads the node after `before`: whether its first execution began after that of the other had ended. */
export function readOrder(reader: ConditionReader, before: NodeName): Evaluate {
  reader.takes("node");
  const after = readNode(reader);
  return (trace) => {
    const [first] = runsOf(trace, before);
    const [second] = runsOf(trace, after);
    if (first === undefined) return absent(trace, before);
    if (second === undefined) return absent(trace, after);
    const ordered = first.endedWith !== undefined && first.endedWith < second.beganWith;
    const lost = first.endedWith === undefined ? endUnseen(trace) : !startSeen(first);
    if (lost || !startSeen(second)) return { passed: undefined, actual: eventLost };
    if (second.beganWith < first.beganWith)
      return { passed: false, actual: `${quoted(second.title)} began first` };
    const notEndedYet = `${quoted(first.title)} had not ended when ${quoted(second.title)} began`;
    const actual = ordered ? "they ran in this order" : notEndedYet;
    return ifAllNodesSeen(trace, { passed: ordered, actual });
  };
}

const never: Limit = { operator: "=", value: 0 };

/** Reads `3 times` or `at most 1 time`; nothing means at least once. */
function readTimes(reader: ConditionReader): Limit {
  if (reader.isAtEnd()) return { operator: ">=", value: 1 };
  const limit = readAmount(reader);
  reader.oneOf(["times", "time"]);
  return limit;
}

/** The sentences that begin with `node NODE`. */
export const nodeForms: Forms<Evaluate, NodeName> = {
  "succeeded|failed|stopped [within TIME]": (reader, name, end) =>
    nodeEnded(name, end, readTimeLimit(reader)),
  "ran [[BOUND] N times]": (reader, name) => nodeRan(name, readTimes(reader)),
  "did not run": (_, name) => nodeRan(name, never),
  "was retried [[BOUND] N times]": (reader, name) => nodeRetried(name, readTimes(reader)),
  "was not retried": (_, name) => nodeRetried(name, never),
  "took BOUND TIME": (reader, name) => {
    const limit = readDuration(reader);
    return ofEach(name, (node, trace) => nodeTime(node, limit, trace));
  },
  "used [BOUND] N tokens": (reader, name) => {
    const limit = readAmount(reader);
    reader.oneOf(["tokens"]);
    return nodeUsed(name, limit);
  },
  "before [node] NODE": readOrder,
};

const MAX_QUOTED = 200;

/** Server text in quotes on one line, truncated if long. */
export function quoted(value: unknown): string {
  const text = stringifyJson(value) ?? "nothing";
  const start = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return start.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (match) => `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A reason after a colon, or nothing. */
export const because = (error: string | undefined): string =>
  error === undefined ? "" : `: ${quoted(error)}`;

/** `0.046 s`. */
export const inSeconds = (seconds: number): string => `${Number(seconds.toFixed(3))} s`;
