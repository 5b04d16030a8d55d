import { own } from "../../lib/json.ts";
import type { ServerEvent } from "../../lib/server-event.ts";
import { RunTrace } from "../../runs/trace.ts";
import type { NodeRun } from "../../runs/trace.ts";
import {
  AnswerWatch,
  durationPart,
  eventLineAfter,
  isSilent,
  linesBelow,
  replacement,
  tokensUsed,
} from "./event-lines.ts";
import type { TextPiece, ViewStyle } from "./event-lines.ts";
import {
  headOf,
  joinParts,
  nodeParts,
  nodeTitle,
  plainParts,
  signOf,
  spinnerSign,
  formatElapsed,
} from "./node-lines.ts";
import type { LinePart } from "../table/text-lines.ts";
import { visible, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import { wrapParts } from "../table/text-lines.ts";

/**
 * The view of one run. Lines become final when a node ends, text when the run ends; the rest is
 * redrawn below them:
 *
 *     ✓ succeeded   0.2s  Start          final: printed once
 *     ⠹ running     1.4s  Generate       live: drawn again and again
 *     ⠹ running     1.6s  run 5f0c…
 */
export class RunView {
  readonly #style: ViewStyle;
  readonly #trace = new RunTrace();
  readonly #text: GrowingText;
  readonly #answer = new AnswerWatch();
  #final = "";
  #open: NodeRun[] = [];
  #nodeCount = 0;
  /** Nodes that are shown as waiting for human input. */
  readonly #waiting = new Set<NodeRun>();
  /** Nesting depth of loops and iterations by node ID. */
  readonly #depths = new Map<string, number>();

  /** Expects the events of a run from its first one. */
  constructor(style: ViewStyle) {
    this.#style = style;
    this.#text = new GrowingText(style.colors);
  }

  add(event: ServerEvent): void {
    const now = this.#style.now().getTime();
    this.#trace.add(event, this.#style.past ? now : arrivalTime(event, now));
    const piece = this.#answer.add(event);
    if (piece) return this.#addText(piece);
    if (isSilent(event)) return;
    const handler = own(this.#handlers, event.event);
    if (nodeEvents.test(event.event)) this.#updateNodes();
    else if (handler) handler(event);
    else this.#printOther(event);
  }

  /** Makes all lines final: no further event follows. */
  end(): void {
    this.#finishOpen(this.#trace.status === "running" ? "running" : "unfinished");
    this.#open = [];
    this.#finishText();
  }

  /** Returns the lines that became final since the last call, of any width. */
  takeFinal(): string {
    const lines = this.#final;
    this.#final = "";
    return lines;
  }

  /** The lines that still change: at most `rows` of at most `columns` columns. */
  liveLines(columns: number, rows: number): string[] {
    const { status, startedAt, runId } = this.#trace;
    if (rows < 1 || status !== "running") return [];
    const style = this.#style;
    const now = style.now().getTime();
    const run = [
      ...headOf(spinnerSign(style), "running", formatElapsed(now - (startedAt ?? now))),
      ...plainParts([runName(runId)]),
    ];
    // Nodes leave most of the rows to the text.
    const maxNodes = this.#text.isEmpty ? rows - 1 : Math.max(1, Math.floor(rows / 3));
    const nodes = rows < 2 ? [] : this.#nodeLines(columns, maxNodes);
    const tail = this.#text.tail(columns, rows - 1 - nodes.length - 2);
    return [
      ...nodes,
      ...(tail.length > 0 ? ["", ...tail, ""] : []),
      joinParts(run, style, columns),
    ];
  }

  #nodeLines(columns: number, rows: number): string[] {
    const style = this.#style;
    const running = { state: "running", sign: spinnerSign(style) };
    const lines = this.#open.map((node) => {
      const parts = nodeParts(node, this.#depthOf(node), style, running);
      return joinParts(parts, style, columns);
    });
    if (lines.length <= rows) return lines;
    return [...lines.slice(0, rows - 1), `  ${lines.length - rows + 1} more nodes are running`];
  }

  #updateNodes(): void {
    const { nodes } = this.#trace;
    for (const node of nodes.slice(this.#nodeCount)) {
      // A node that waited for human input starts again with the same ID.
      this.#open = [...this.#open.filter(({ id }) => id !== node.id), node];
      if (node.rounds === undefined) continue;
      this.#depths.set(node.nodeId, this.#depthOf(node));
      this.#printNode(node, "started");
    }
    this.#nodeCount = nodes.length;
    for (const node of this.#open)
      if (node.finishedAt !== undefined) this.#printNode(node, node.status);
    this.#open = this.#open.filter(({ finishedAt }) => finishedAt === undefined);
  }

  readonly #replaceText = (event: ServerEvent): void => {
    const answer = replacement(event);
    if (answer === undefined) return;
    this.#text.replace(answer);
    if (event.fields.reason) this.#printOther(event);
  };

  readonly #handlers: Readonly<Record<string, (event: ServerEvent) => void>> = {
    workflow_started: () => {},
    node_retry: (event) => this.#printRetry(event),
    human_input_required: (event) => this.#printForm(event),
    human_input_form_filled: ({ fields }) =>
      this.#print([
        ...headOf(signOf("", this.#style), "submitted", undefined),
        ...plainParts(
          [fields.node_title, fields.action_text ?? fields.action_id].map(
            (part) => part && visible(part),
          ),
        ),
      ]),
    workflow_paused: (event) => {
      this.#finishOpen("paused");
      for (const node of this.#open) this.#waiting.add(node);
      this.#finishText();
      this.#printRun(event);
    },
    workflow_finished: (event) => {
      this.#finishOpen("unfinished");
      this.#open = [];
      this.#finishText();
      this.#final += linesBelow(event, this.#answer, this.#style);
      this.#printRun(event);
    },
    _answer: this.#replaceText,
    message: this.#replaceText,
    message_replace: this.#replaceText,
    text_replace: this.#replaceText,
  };

  #addText({ kind, text }: TextPiece): void {
    if (text !== undefined) this.#text.add(kind, text);
  }

  #finishOpen(state: string): void {
    for (const node of this.#open) if (!this.#waiting.has(node)) this.#printNode(node, state);
  }

  #finishText(): void {
    if (!this.#text.isEmpty) this.#final += `\n${this.#text.take()}\n`;
  }

  #printNode(node: NodeRun, state: string): void {
    this.#print(nodeParts(node, this.#depthOf(node), this.#style, { state }));
  }

  #printForm(event: ServerEvent): void {
    const node = this.#open.find(({ nodeId }) => nodeId === event.fields.node_id);
    if (node) {
      this.#printNode(node, "paused");
      this.#waiting.add(node);
    } else this.#printOther(event);
    this.#final += linesBelow(event, this.#answer, this.#style);
  }

  /** Prints a failed attempt of a node that is retried. */
  #printRetry(event: ServerEvent): void {
    const { id, elapsed_time, error = "" } = event.fields;
    const node = this.#open.find((each) => each.id === id);
    if (!node) return this.#printOther(event);
    this.#print([
      ...headOf(signOf("retry", this.#style), "retry", durationPart(elapsed_time)),
      ...nodeTitle(node, this.#depthOf(node)),
      ...plainParts([`retry ${node.retries}`, visible(error)]),
    ]);
  }

  #printRun(event: ServerEvent): void {
    const { status, elapsed, runId } = this.#trace;
    const details = tokensUsed(event.fields).map((part) => part && visible(part));
    this.#print([
      ...headOf(signOf(status, this.#style), status, durationPart(elapsed)),
      ...plainParts([runName(runId), ...details]),
    ]);
  }

  #printOther(event: ServerEvent): void {
    this.#final += `${eventLineAfter(`${signOf("", this.#style)} `, event, this.#style)}\n`;
  }

  #print(parts: readonly LinePart[]): void {
    this.#final += `${wrapParts(parts, this.#style)}\n`;
  }

  #depthOf({ within }: NodeRun): number {
    return within ? (this.#depths.get(within.nodeId) ?? 0) + 1 : 0;
  }
}

const nodeEvents = /^(node|iteration|loop)_(started|next|finished|completed)$/;

/** Characters of an ID that tell it apart, and that commands accept. */
const SHORT_ID = 8;

const runName = (runId: string | undefined): string =>
  runId === undefined ? "run" : `run ${visible(runId.slice(0, SHORT_ID))}`;

/** Seconds by which whole seconds and the network may delay an event. */
const MAX_DELAY = 2;

/** When it happened, in ms: now, or the server's time if that is long ago, as in a snapshot. */
function arrivalTime({ event, fields: { created_at: created } }: ServerEvent, now: number): number {
  const isOld = created !== undefined && created + MAX_DELAY < now / 1000;
  return isOld && event.endsWith("_started") ? created * 1000 : now;
}

/** Answer and reasoning of a run that are not final yet; reasoning is dim and has a label. */
class GrowingText {
  readonly #colors: Colors;
  #pieces: { kind: TextPiece["kind"]; text: string }[] = [];

  constructor(colors: Colors) {
    this.#colors = colors;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  add(kind: TextPiece["kind"], text: string): void {
    const last = this.#pieces.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#pieces.push({ kind, text: kind === "reasoning" ? `reasoning: ${text}` : text });
  }

  /** Replaces the answer so far. */
  replace(answer: string): void {
    const reasoning = this.#pieces.filter(({ kind }) => kind === "reasoning");
    this.#pieces = [...reasoning, { kind: "answer", text: answer }];
  }

  /** The last lines: at most `rows` of at most `columns` columns. */
  tail(columns: number, rows: number): string[] {
    const lines: string[] = [];
    if (rows < 1) return lines;
    for (const { kind, text } of this.#pieces.toReversed()) {
      for (const line of lastLines(text, columns * rows).toReversed()) {
        lines.unshift(...wrap(line, columns).map((part) => this.#colored(kind, part)));
        if (lines.length >= rows) return lines.slice(-rows);
      }
    }
    return lines;
  }

  /** Returns the whole text as lines with their ends, and empties it. */
  take(): string {
    const lines = this.#pieces.flatMap(({ kind, text }) =>
      linesOf(text).map((line) => `${this.#colored(kind, line)}\n`),
    );
    this.#pieces = [];
    return lines.join("");
  }

  #colored(kind: TextPiece["kind"], line: string): string {
    return kind === "reasoning" && line !== "" ? this.#colors.dim(line) : line;
  }
}

/** Lines of a text, without an empty one after its last line end. */
const linesOf = (text: string): string[] =>
  visible(text, { newlines: true }).replace(/\n$/, "").split("\n");

/** The last lines of a text, of at least `characters` characters if it has as many. */
function lastLines(text: string, characters: number): string[] {
  // The cut moves in steps of `characters`, so that lines do not break elsewhere with every piece.
  const cuts = Math.floor(text.length / characters) - 1;
  return linesOf(cuts > 0 ? text.slice(cuts * characters) : text);
}
