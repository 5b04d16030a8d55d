import type { ServerEvent } from "../../../api/sse.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { printedValue, runTexts } from "../../../runs/text.ts";
import { newTextHash } from "../../../lib/text-hash.ts";
import type { TextHash } from "../../../lib/text-hash.ts";

/** Text that was not shown where it belongs, and where that is. */
export interface MissingText {
  /** Name of the run's output that holds the whole text. */
  readonly output: string;
  /** UTF-16 units of that output that were shown before the gap. */
  readonly from: number;
  /** All that follows them, what was shown after the gap included. */
  readonly text: string;
}

/** How much of a run's text was shown without a gap. */
export interface TextGaps {
  see(event: ServerEvent): void;
  /** From here on pieces may be missing. */
  gap(): void;
  /**
   * What the outputs of the ended run hold beyond the text that was shown without a gap: empty
   * where all was shown; undefined where no output begins with it, so that nobody can tell.
   */
  missingIn(outputs: unknown): readonly MissingText[] | undefined;
}

/**
 * Watches the pieces of a run's text (server §15.6). `late`: the run may have said something before
 * the first event that is seen.
 */
export function trackTextGaps(late: boolean): TextGaps {
  const texts = runTexts();
  /** All that was seen of each source; the messages of a chatflow are one, its answer. */
  const sources = new Map<string, TextHash>();
  /** The same before the first gap; undefined while there is none. */
  let before: Map<string, TextHash> | undefined;
  /** Of an answer: how much of it there was before each of its sources spoke. */
  const begun = new Map<string, TextHash>();

  const grow = (name: string, text: string) => {
    let source = sources.get(name);
    if (source === undefined) sources.set(name, (source = newTextHash()));
    source.grow(text);
  };
  const breakOff = () => {
    before ??= new Map([...sources].map(([name, source]) => [name, source.copy()]));
  };
  /** As if these sources had said nothing. */
  const takeBack = (taken: ReadonlySet<string>) => {
    for (const name of taken) {
      sources.delete(name);
      before?.delete(name);
      const start = begun.get(name);
      if (start === undefined) continue;
      begun.delete(name);
      for (const shown of [sources, before]) {
        if ((shown?.get("answer")?.length ?? 0) > start.length) shown?.set("answer", start.copy());
      }
    }
  };

  return {
    see(event) {
      const change = texts.see(event);
      if (isResumedChatflow(event)) breakOff();
      if (change?.kind === "void") takeBack(change.sources);
      else if (change?.kind === "all") {
        // The saved answer from its beginning: nothing before it is missing.
        sources.delete("answer");
        before = undefined;
        grow("answer", change.text);
      } else if (change && event.event === "text_chunk") {
        grow(change.piece.source, change.piece.text);
      } else if (change) {
        const { source, node, text } = change.piece;
        if (!texts.runs(node)) begun.delete(source);
        else if (!begun.has(source))
          begun.set(source, sources.get("answer")?.copy() ?? newTextHash());
        grow("answer", text);
      }
    },
    gap: breakOff,
    missingIn(outputs) {
      const printed = Object.entries(isObject(outputs) ? outputs : {}).flatMap(
        ([name, value]): readonly Output[] => {
          const text = printedValue(value);
          return text === undefined ? [] : [[name, text]];
        },
      );
      const spoken = [...sources].filter(([, text]) => !isBetween(text));
      const found = spoken.map(([name, all]) => {
        // With luck nothing was said while nobody listened.
        const whole = printed.find(([, text]) => text.length === all.length && all.begins(text));
        if (whole) return missing(whole, all.length);
        const shown = before ? before.get(name) : all;
        const output = shown && printed.find(([, text]) => shown.begins(text));
        return output && missing(output, shown.length);
      });
      const placed = found.filter((each) => each !== undefined);
      if (placed.length === found.length) {
        // A run tells all of its outputs, so one that nobody spoke of was told in a gap.
        const silent = before ? printed.filter(([name]) => !isPlaced(name, placed)) : [];
        const all = [...placed, ...silent.map((output) => missing(output, 0))];
        return all.filter(({ text }) => text !== "");
      }
      if (!before && !late) return [];
      const [sole, ...others] = printed;
      return sole && others.length === 0 ? [missing(sole, 0)] : undefined;
    },
  };
}

/** Name of an output, and its text. */
type Output = readonly [name: string, text: string];

const missing = ([output, text]: Output, from: number): MissingText => ({
  output,
  from,
  text: text.slice(from),
});

const isPlaced = (name: string, placed: readonly MissingText[]): boolean =>
  placed.some(({ output }) => output === name);

/** Is it what stands between two outputs (server §15.5)? */
const isBetween = (text: TextHash): boolean => text.begins("\n".repeat(text.length));

/** A resumed chatflow repeats its first text and never sends the rest (server §18). */
export const isResumedChatflow = ({ event, data }: ServerEvent): boolean =>
  event === "workflow_started" &&
  data["conversation_id"] !== undefined &&
  valueAt(data, "data.reason") === "resumption";
