import { equal, ok } from "node:assert/strict";
import { executionsOf, statusOf, type StoredRun } from "../applications.ts";
import type { Ended } from "../process.ts";

/** An event as a program prints it. */
interface PrintedEvent {
  readonly event: string;
  readonly workflow_run_id?: string;
  /** Of `_gap_filled`: the text that was missing. */
  readonly data?: {
    readonly id?: string;
    readonly node_id?: string;
    readonly status?: string;
    readonly reason?: string;
    readonly text?: string;
    readonly output?: string;
    readonly from?: number;
    readonly from_variable_selector?: readonly string[];
  };
}

/** How a run was followed. */
interface Followed {
  readonly end: Ended;
  /** Whether the run may have sent events before the program listened. */
  readonly isLate: boolean;
  /** A server that starts again repeats the node that it had begun, and its text. */
  readonly wasRestarted: boolean;
}

/**
 * Each event is printed once, or a gap is told, as far as the program lived to print them. The run has
 * ended: before, the server stores not all of it.
 */
export function requireEvents(run: StoredRun, followed: Followed): void {
  const { exit, out } = followed.end;
  const lines = out.split("\n").slice(0, -1);
  const events = lines.map((line) => JSON.parse(line) as PrintedEvent);
  for (const { event, workflow_run_id: id } of events)
    equal(id ?? run.id, run.id, `a foreign ${event}`);
  requireOnce(run, events);
  if (exit !== 0 && exit !== 9) return;
  if (isKnownFromEarlier(run, followed)) equal(countOfKind(events, "workflow_finished"), 0);
  else equal(events.at(-1)?.event, "workflow_finished", "the last event");
  const isOver = followed.isLate && events.length === 1;
  if (isOver || followed.wasRestarted) return;
  const hasGap = events.some(({ event }) => event === "_gap");
  if (!hasGap) requireNodes(run, events);
  if (exit === 0) requireTexts(run, events, followed.isLate);
}

/**
 * Servers whose record of a stopped run shows `running` for ever send no end to later followers: these
 * say that the end was seen by an earlier one.
 */
const isKnownFromEarlier = (run: StoredRun, { end, isLate }: Followed): boolean =>
  isLate &&
  end.exit === 9 &&
  statusOf(run) === "stopped" &&
  end.err.includes("as its event stream reported; its record still shows running");

const countOfKind = (events: readonly PrintedEvent[], kind: string) =>
  events.filter(({ event }) => event === kind).length;

const countOf = (events: readonly PrintedEvent[], kind: string, id: string) =>
  events.filter(({ event, data }) => event === kind && data?.id === id).length;

/** A node starts once, or again after a pause, and ends once. */
function requireOnce(run: StoredRun, events: readonly PrintedEvent[]): void {
  for (const { id, nodeId } of executionsOf(run)) {
    const starts = countOf(events, "node_started", id);
    ok(starts <= (nodeId === "review" ? 2 : 1), `${nodeId} starts ${starts} times`);
    const ends = countOf(events, "node_finished", id);
    ok(ends <= 1, `${nodeId} ends ${ends} times`);
  }
  for (const kind of ["workflow_finished", "workflow_paused", "human_input_required"])
    ok(countOfKind(events, kind) <= 1, `${kind} comes twice`);
}

/** All nodes are there. */
function requireNodes(run: StoredRun, events: readonly PrintedEvent[]): void {
  for (const { id, nodeId, status } of executionsOf(run)) {
    equal(countOf(events, "node_started", id) > 0, true, `the start of ${nodeId} is missing`);
    if (status !== "succeeded") continue;
    equal(countOf(events, "node_finished", id), 1, `the end of ${nodeId} is missing`);
  }
}

/**
 * The text before a gap and what fills it are the outputs. A gap is told alone only if text is shown
 * whose beginning was missed: it could be of any output.
 */
function requireTexts(run: StoredRun, events: readonly PrintedEvent[], isLate: boolean): void {
  const outputs = JSON.parse(run.outputs) as Readonly<Record<string, string>>;
  const gapAt = events.findIndex(({ event }) => event === "_gap");
  const before = events.slice(0, gapAt);
  const isUnknown = ([name, output]: readonly [string, string]) => {
    const shown = textOf(events, name);
    return shown !== "" && shown !== output && (isLate || textOf(before, name) === "");
  };
  const isOnlyTold = gapAt >= 0 && Object.entries(outputs).some(isUnknown);
  const fills = events.filter(({ event }) => event === "_gap_filled");
  for (const [name, output] of Object.entries(outputs)) {
    const filled = fills.find(({ data }) => data?.output === name)?.data;
    const shown = textOf(events, name);
    if (filled) {
      const { from = 0, text } = filled;
      equal(text, output.slice(from), `what fills the gap of ${name}`);
      equal(shown.slice(0, from), output.slice(0, from), `${name} before the gap`);
    } else if (isOnlyTold) requireParts(shown, output, name);
    else equal(shown, output, `the text of ${name}`);
  }
  equal(fills.length, new Set(fills.map(({ data }) => data?.output)).size, "a gap is filled twice");
}

/** What is shown is in the output, in the same order. */
function requireParts(shown: string, output: string, name: string): void {
  let at = 0;
  for (const word of shown.split(" ").filter(Boolean)) {
    const next = output.indexOf(word, at);
    ok(next >= 0, `${name} is ${JSON.stringify(shown)}`);
    at = next + word.length;
  }
}

/** The printed text of a node. */
const textOf = (events: readonly PrintedEvent[], node: string): string =>
  events
    .filter(
      ({ event, data }) => event === "text_chunk" && data?.from_variable_selector?.[0] === node,
    )
    .map(({ data }) => data?.text ?? "")
    .join("");
