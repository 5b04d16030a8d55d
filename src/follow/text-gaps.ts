import type { ServerEvent } from "../lib/server-event.ts";
import { isObject } from "../lib/json.ts";
import { digestIn, printedValue, RunTexts, TextDigest } from "../runs/text.ts";

/** Text that was missed, and its place in the outputs. */
export interface MissingText {
  /** Name of the run's output that holds the full text. */
  readonly output: string;
  /** UTF-16 units of that output shown before the gap. */
  readonly from: number;
  /** The rest of the output, including the text shown after the gap. */
  readonly text: string;
}

/**
 * Tracks how much of a run's text was shown without a gap (server §15.6), and fills gaps from the
 * outputs at the end:
 *
 *   shown:    "Leave is " -- gap -- "a year"
 *   outputs:  answer = "Leave is 30 days a year"
 *   missing:  output answer, from 9, "30 days a year"
 */
export class TextGaps {
  private readonly texts = new RunTexts();
  /** Text of each source; all messages of a chatflow are one source, its answer. */
  private readonly sources = new Map<string, TextDigest>();
  /** Each of them before the first gap; undefined while there is none. */
  private beforeGap: Map<string, TextDigest> | undefined;
  /** For chatflows: the answer before the first text of each source of a running node. */
  private readonly answerBefore = new Map<string, TextDigest>();
  private readonly late: boolean;
  /** Whether an event came before the last one: of an ended run, only that is sent (server §15.3). */
  private hasFollowed = false;

  /** `late`: the run may have sent text before the first event seen. */
  constructor(late: boolean) {
    this.late = late;
  }

  add(event: ServerEvent): void {
    this.hasFollowed ||= event.event !== "workflow_finished";
    const change = this.texts.add(event);
    if (isResumedChatflow(event)) this.markGap();
    if (change?.kind === "void") {
      this.takeBack(change.sources);
    } else if (change?.kind === "all") {
      // The full saved answer: nothing before it is missing.
      this.sources.delete("answer");
      this.beforeGap = undefined;
      this.append("answer", change.text);
    } else if (change && event.event === "text_chunk") {
      this.append(change.piece.source, change.piece.text);
    } else if (change) {
      const { source, node, text } = change.piece;
      if (!this.texts.isRunning(node)) this.answerBefore.delete(source);
      else if (!this.answerBefore.has(source))
        this.answerBefore.set(source, digestIn(this.sources, "answer").copy());
      this.append("answer", text);
    }
  }

  /** Records that text may be missing from here on. */
  markGap(): void {
    this.beforeGap ??= new Map([...this.sources].map(([name, text]) => [name, text.copy()]));
  }

  /**
   * Returns what the outputs of the ended run hold beyond the text shown without a gap; undefined if
   * the shown text matches no output.
   */
  missingIn(outputs: unknown): readonly MissingText[] | undefined {
    const printed = printedOutputs(outputs);
    // A text of line ends only separates two outputs (server §15.5).
    const matches = [...this.sources]
      .filter(([, text]) => !text.isBlank)
      .map(([name, text]) => this.missingOf(name, text, printed));
    const placed = matches.filter((match) => match !== undefined);
    if (placed.length === matches.length) {
      // A run sends all of its outputs, so an output without text was sent during a gap, or before.
      const hasMissed = this.beforeGap !== undefined || (this.late && this.hasFollowed);
      const unsent = hasMissed ? printed.filter(([name]) => !isPlaced(name, placed)) : [];
      const all = [...placed, ...unsent.map((output) => restOf(output, 0))];
      return all.filter(({ text }) => text !== "");
    }
    if (!this.beforeGap && !this.late) return [];
    const [only, ...others] = printed;
    return only && others.length === 0 ? [restOf(only, 0)] : undefined;
  }

  private missingOf(
    name: string,
    all: TextDigest,
    printed: readonly Output[],
  ): MissingText | undefined {
    // The gap may have fallen between two pieces, so that nothing is missing.
    const complete = printed.find(([, text]) => all.equals(text));
    if (complete) return restOf(complete, all.length);
    const shown = this.beforeGap ? this.beforeGap.get(name) : all;
    const output = printed.find(([, text]) => shown?.isPrefixOf(text));
    return shown && output && restOf(output, shown.length);
  }

  private append(name: string, text: string): void {
    digestIn(this.sources, name).add(text);
  }

  /** Discards the text of these sources. */
  private takeBack(names: ReadonlySet<string>): void {
    const { sources, beforeGap } = this;
    for (const name of names) {
      sources.delete(name);
      beforeGap?.delete(name);
      const start = this.answerBefore.get(name);
      if (start === undefined) continue;
      this.answerBefore.delete(name);
      for (const texts of [sources, beforeGap]) {
        const length = texts?.get("answer")?.length ?? 0;
        if (length > start.length) texts?.set("answer", start.copy());
      }
    }
  }
}

/** Name of an output, and its text. */
type Output = readonly [name: string, text: string];

/** The outputs as text, without those whose text is unknown. */
const printedOutputs = (outputs: unknown): readonly Output[] =>
  Object.entries(isObject(outputs) ? outputs : {}).flatMap(([name, value]): readonly Output[] => {
    const text = printedValue(value);
    return text === undefined ? [] : [[name, text]];
  });

const restOf = ([output, text]: Output, from: number): MissingText => ({
  output,
  from,
  text: text.slice(from),
});

const isPlaced = (name: string, placed: readonly MissingText[]): boolean =>
  placed.some(({ output }) => output === name);

/** A resumed chatflow sends its first text again and never sends the rest (server §18). */
export const isResumedChatflow = ({ event, fields }: ServerEvent): boolean =>
  event === "workflow_started" &&
  fields.conversation_id !== undefined &&
  fields.reason === "resumption";
