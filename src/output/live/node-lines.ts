import type { NodeRun } from "../../runs/trace.ts";
import { duration } from "./event-lines.ts";
import { colorOfStatus } from "../table/colors.ts";
import type { LiveStyle } from "./event-lines.ts";
import { pad, shorten, visible, widthOf } from "../table/display-width.ts";
import type { Colors } from "../table/display-width.ts";

/** How a run is drawn. */
export interface ViewStyle extends LiveStyle {
  /** May signs be more than ASCII? */
  readonly unicode: boolean;
  /** Do the events come long after the dates in them? */
  readonly past: boolean;
}

/** A piece of a line; pieces stand two columns apart. */
interface Part {
  readonly text: string;
  readonly tone?: keyof Colors | undefined;
}

const signs: Readonly<Record<string, readonly [unicode: string, ascii: string]>> = {
  succeeded: ["✓", "+"],
  "partial-succeeded": ["✓", "+"],
  failed: ["✗", "x"],
  exception: ["✗", "x"],
  stopped: ["■", "#"],
  paused: ["‖", "="],
  started: ["▸", ">"],
  retry: ["↻", "~"],
};
const otherSign = ["•", "*"] as const;
const spinning = { unicode: "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", ascii: "|/-\\" } as const;
/** ms for which a sign of what is at work stands. */
const beat = 100;

/** Room for the words of a state, and for a time of less than two hours. */
const stateWidth = 10;
const timeWidth = 6;

/** Sign of a state. */
export function signOf(state: string, { unicode }: ViewStyle): string {
  const known = Object.hasOwn(signs, state) ? signs[state] : undefined;
  return (known ?? otherSign)[unicode ? 0 : 1];
}

/** Sign of what is at work: it turns with the clock. */
export function turning({ unicode, now }: ViewStyle): string {
  const turns = unicode ? spinning.unicode : spinning.ascii;
  return turns[Math.floor(now().getTime() / beat) % turns.length] ?? "";
}

/** Sign, state and time: where every line of a node or a run begins. */
export const headOf = (sign: string, state: string, time: string | undefined): Part[] => [
  { text: `${sign} ${pad(visible(state), stateWidth)}`, tone: colorOfStatus(state) },
  { text: pad(time ?? "", timeWidth, "right") },
];

/** A node as it stands: what it is called, where in a loop or an iteration, and what went wrong. */
export function nodeParts(
  node: NodeRun,
  state: string,
  depth: number,
  dress: ViewStyle,
  sign = signOf(state, dress),
): Part[] {
  const { within, retries, error } = node;
  const time =
    state === "started"
      ? undefined
      : node.finishedAt === undefined
        ? ticking(dress.now().getTime() - node.startedAt)
        : duration(node.elapsed);
  return [
    ...headOf(sign, state, time),
    ...nodeTitle(node, depth),
    ...plain([
      within && `round ${within.round}`,
      roundsOf(node, state),
      retries > 0 ? `${retries} ${retries === 1 ? "retry" : "retries"}` : undefined,
      error && visible(error),
    ]),
  ];
}

/** What a node is called, as deep as it stands in loops and iterations. */
export const nodeTitle = ({ title }: NodeRun, depth: number): Part[] =>
  plain([`${"  ".repeat(depth)}${visible(title)}`]);

/** Rounds that are ahead, that go on, or that were made. */
function roundsOf({ rounds, roundsAhead, type }: NodeRun, state: string): string | undefined {
  if (rounds === undefined) return undefined;
  // A loop may end before it has made all of them.
  const ahead =
    roundsAhead === undefined ? undefined : `${type === "loop" ? "at most " : ""}${roundsAhead}`;
  if (state === "running") return ahead ? `round ${rounds} of ${ahead}` : `round ${rounds}`;
  if (state === "started") return ahead && `${ahead} ${roundsAhead === 1 ? "round" : "rounds"}`;
  return `${rounds} ${rounds === 1 ? "round" : "rounds"}`;
}

/** Parts without a colour; what is not there is left out. */
export const plain = (texts: readonly (string | undefined | 0 | "")[]): Part[] =>
  texts.flatMap((each) => (each ? [{ text: each }] : []));

/** `0.4s`, `12.0s`, `2m05s`: a time that goes on. */
export const ticking = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000;
  return seconds < 59.95 ? `${seconds.toFixed(1)}s` : (duration(seconds) ?? "");
};

/** Parts as one line of at most `room` columns. */
export function joined(parts: readonly Part[], paint: Colors, room = Infinity): string {
  let line = "";
  let left = room;
  for (const { text, tone } of parts) {
    const gap = line === "" ? "" : "  ";
    const shown = shorten(text, left - gap.length);
    if (shown === "") break;
    line += gap + (tone === undefined ? shown : paint[tone](shown));
    left -= gap.length + widthOf(shown);
  }
  return line.trimEnd();
}
