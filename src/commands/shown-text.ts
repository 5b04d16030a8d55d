import type { ServerEvent } from "../api/events.ts";
import { isObject } from "../json.ts";
import { textPrefix } from "./text-prefix.ts";
import type { TextPrefix } from "./text-prefix.ts";

/** Text that was not shown where it belongs, and where that is. */
export interface Missing {
  /** Name of the run's output that holds the whole text. */
  readonly output: string;
  /** UTF-16 units of that output that were shown before the gap. */
  readonly from: number;
  /** All that follows them, what was shown after the gap included. */
  readonly text: string;
}

/** How much of a run's text was shown without a gap. */
export interface ShownText {
  see(event: ServerEvent): void;
  /** From here on pieces may be missing. */
  gap(): void;
  /**
   * What the outputs of the ended run hold beyond the text that was shown without a gap: empty
   * where all was shown; undefined where no output begins with it, so that nobody can tell.
   */
  missingIn(outputs: unknown): readonly Missing[] | undefined;
}

/**
 * Watches the pieces of a run's text (server §15.6). `late`: the run may have said something before
 * the first event that is seen.
 */
export function shownText(late: boolean): ShownText {
  /** By selector; all that was seen of each. */
  const sources = new Map<string, TextPrefix>();
  /** The same before the first gap; undefined while there is none. */
  let before: ReadonlyMap<string, TextPrefix> | undefined;

  const sourceOf = (name: string): TextPrefix => {
    let source = sources.get(name);
    if (source === undefined) sources.set(name, (source = textPrefix()));
    return source;
  };
  // Pieces of one source come in a row: it is looked for when another one speaks.
  let speaker: { readonly selector: readonly unknown[]; readonly source: TextPrefix } | undefined;
  const sourceAt = (selector: readonly unknown[]): TextPrefix => {
    if (speaker === undefined || !sameItems(speaker.selector, selector))
      speaker = { selector, source: sourceOf(selector.join(".")) };
    return speaker.source;
  };
  const breakOff = () => {
    before ??= new Map([...sources].map(([name, source]) => [name, source.copy()]));
  };

  return {
    see({ event, data: envelope }) {
      if (event === "text_chunk") {
        const data = isObject(envelope["data"]) ? envelope["data"] : {};
        const { from_variable_selector: selector, text } = data;
        if (typeof text === "string" && text !== "")
          sourceAt(Array.isArray(selector) ? selector : []).grow(text);
      } else if (event === "message") {
        if (textIn(envelope) !== "") sourceOf("answer").grow(textIn(envelope));
      } else if (event === "message_replace") {
        // The saved answer from its beginning: nothing before it is missing.
        sources.delete("answer");
        before = undefined;
        sourceOf("answer").grow(textIn(envelope));
      } else if (event === "workflow_started" && isResumedChatflow(envelope)) {
        breakOff();
      }
    },
    gap: breakOff,
    missingIn(outputs) {
      const texts = Object.entries(isObject(outputs) ? outputs : {}).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      );
      const [first, ...others] = texts;
      const sole = first && others.length === 0 ? first : undefined;
      if (sources.size === 0) return before && sole ? [missing(sole, 0)] : [];
      const found = [...sources].map(([name, all]) => {
        // With luck nothing was said while nobody listened.
        const whole = texts.find(([, text]) => text.length === all.length && all.begins(text));
        if (whole) return missing(whole, all.length);
        const shown = before ? before.get(name) : all;
        const output = shown && texts.find(([, text]) => shown.begins(text));
        return output && missing(output, shown.length);
      });
      const placed = found.filter((each) => each !== undefined);
      if (placed.length === found.length) return placed.filter(({ text }) => text !== "");
      if (!before && !late) return [];
      return sole ? [missing(sole, 0)] : undefined;
    },
  };
}

const missing = ([output, text]: readonly [string, string], from: number): Missing => ({
  output,
  from,
  text: text.slice(from),
});

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

const textIn = ({ answer }: Readonly<Record<string, unknown>>): string =>
  typeof answer === "string" ? answer : "";

/** A resumed chatflow repeats its first text and never sends the rest (server §18). */
const isResumedChatflow = (envelope: Readonly<Record<string, unknown>>): boolean =>
  envelope["conversation_id"] !== undefined &&
  isObject(envelope["data"]) &&
  envelope["data"]["reason"] === "resumption";
