import { formatSeconds } from "../../lib/numbers.ts";
import { counted } from "../../lib/text.ts";
import type { NodeRun } from "../../runs/trace.ts";
import { ellipsis, pad, shorten, visible, widthOf } from "../display-width.ts";
import { colorOfStatus } from "../style.ts";
import type { LinePart } from "../table/text-lines.ts";
import { durationPart } from "./event-lines.ts";
import type { ViewStyle } from "./event-lines.ts";

const signs: Readonly<Record<string, readonly [unicode: string, ascii: string]>> = {
  succeeded: ["✓", "+"],
  "partial-succeeded": ["✓", "+"],
  passed: ["✓", "+"],
  failed: ["✗", "x"],
  error: ["✗", "x"],
  exception: ["✗", "x"],
  stopped: ["■", "#"],
  paused: ["‖", "="],
  started: ["▸", ">"],
  retry: ["↻", "~"],
};
const otherSign = ["•", "*"] as const;
// Signs within lines that are redrawn anyway: ora draws one line of its own, and takes 75 ms to load.
const spinning = { unicode: "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", ascii: "|/-\\" } as const;
/** ms for which each frame of the spinner is displayed. */
const FRAME_TIME = 100;

/** Columns for a state, and for a time of less than two hours. */
const stateWidth = 10;
const timeWidth = 6;

/** Sign of a state. */
export function signOf(state: string, { unicode }: ViewStyle): string {
  const known = Object.hasOwn(signs, state) ? signs[state] : undefined;
  return (known ?? otherSign)[unicode ? 0 : 1];
}

/** Sign of running work, which turns with the clock. */
export function spinnerSign({ unicode, now }: ViewStyle): string {
  const frames = unicode ? spinning.unicode : spinning.ascii;
  return frames[Math.floor(now().getTime() / FRAME_TIME) % frames.length] ?? "";
}

/** Sign, state and time: the start of every line of a node or a run. */
export const headOf = (sign: string, state: string, time: string | undefined): LinePart[] => [
  { text: `${sign} ${pad(visible(state), stateWidth)}`, color: colorOfStatus(state) },
  { text: pad(time ?? "", timeWidth, "right") },
];

/** A node with its state, time, title, round and error. */
export function nodeParts(
  node: NodeRun,
  depth: number,
  style: ViewStyle,
  { state, sign = signOf(state, style) }: { readonly state: string; readonly sign?: string },
): LinePart[] {
  const { within, retries, error } = node;
  return [
    ...headOf(sign, state, timeOf(node, state, style)),
    ...nodeTitle(node, depth),
    ...plainParts([
      within && `round ${within.round}`,
      roundsOf(node, state),
      retries > 0 ? counted(retries, "retry", "retries") : undefined,
      error && visible(error),
    ]),
  ];
}

function timeOf(node: NodeRun, state: string, { now }: ViewStyle): string | undefined {
  if (state === "started") return undefined;
  if (node.finishedAt !== undefined) return durationPart(node.elapsed);
  return formatElapsed(now().getTime() - node.startedAt);
}

/** The title of a node, indented by its depth in loops and iterations. */
export const nodeTitle = ({ title }: NodeRun, depth: number): LinePart[] =>
  plainParts([`${"  ".repeat(depth)}${visible(title)}`]);

/** Rounds of a loop or an iteration: planned, current or completed. */
function roundsOf({ rounds, roundsAhead, type }: NodeRun, state: string): string | undefined {
  if (rounds === undefined) return undefined;
  // A loop may end early.
  const limit =
    roundsAhead === undefined ? undefined : `${type === "loop" ? "at most " : ""}${roundsAhead}`;
  if (state === "running") return limit ? `round ${rounds} of ${limit}` : `round ${rounds}`;
  if (state === "started") return limit && `${limit} ${roundsAhead === 1 ? "round" : "rounds"}`;
  return counted(rounds, "round");
}

/** Parts without a color; empty ones are omitted. */
export const plainParts = (texts: readonly (string | undefined | 0 | "")[]): LinePart[] =>
  texts.flatMap((each) => (each ? [{ text: each }] : []));

/** A time that grows: `0.4 s`, `12.0 s`, `2m 05s`. */
export const formatElapsed = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000;
  return seconds < 59.95 ? `${seconds.toFixed(1)} s` : formatSeconds(seconds);
};

/** Parts as one line of at most `width` columns. */
export function joinParts(
  parts: readonly LinePart[],
  { colors, unicode }: ViewStyle,
  width: number,
): string {
  let line = "";
  let left = width;
  for (const { text, color } of parts) {
    const gap = line === "" ? "" : "  ";
    const shown = shorten(text, left - gap.length, ellipsis(unicode));
    if (shown === "") break;
    line += gap + (color === undefined ? shown : colors[color](shown));
    left -= gap.length + widthOf(shown);
  }
  return line.trimEnd();
}
