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

/** Pieces of one source: those before the first gap, and all that were seen. */
interface Source {
  readonly before: TextPrefix;
  readonly all: TextPrefix;
}

/**
 * Watches the pieces of a run's text (server §15.6). `late`: the run may have said something before
 * the first event that is seen.
 */
export function shownText(late: boolean): ShownText {
  const sources = new Map<string, Source>();
  let broken = false;

  const grow = (name: string, piece: unknown) => {
    if (typeof piece !== "string" || piece === "") return;
    let source = sources.get(name);
    if (source === undefined)
      sources.set(name, (source = { before: textPrefix(), all: textPrefix() }));
    if (!broken) source.before.grow(piece);
    source.all.grow(piece);
  };

  return {
    see({ event, data: envelope }) {
      if (event === "text_chunk") {
        const data = isObject(envelope["data"]) ? envelope["data"] : {};
        const selector = data["from_variable_selector"];
        grow(Array.isArray(selector) ? selector.join(".") : "", data["text"]);
      } else if (event === "message") {
        grow("answer", envelope["answer"]);
      } else if (event === "message_replace") {
        // The saved answer from its beginning: nothing before it is missing.
        sources.delete("answer");
        broken = false;
        grow("answer", envelope["answer"]);
      } else if (event === "workflow_started" && isResumedChatflow(envelope)) {
        broken = true;
      }
    },
    gap() {
      broken = true;
    },
    missingIn(outputs) {
      const texts = Object.entries(isObject(outputs) ? outputs : {}).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      );
      const [first, ...others] = texts;
      const sole = first && others.length === 0 ? first : undefined;
      if (sources.size === 0) return broken && sole ? [missing(sole, 0)] : [];
      const found = [...sources.values()].map(({ before, all }) => {
        // With luck nothing was said while nobody listened.
        const whole = texts.find(([, text]) => text.length === all.length && all.begins(text));
        if (whole) return missing(whole, all.length);
        const output = before.length > 0 && texts.find(([, text]) => before.begins(text));
        return output ? missing(output, before.length) : undefined;
      });
      const placed = found.filter((each) => each !== undefined);
      if (placed.length === found.length) return placed.filter(({ text }) => text !== "");
      if (!broken && !late) return [];
      return sole ? [missing(sole, 0)] : undefined;
    },
  };
}

const missing = ([output, text]: readonly [string, string], from: number): Missing => ({
  output,
  from,
  text: text.slice(from),
});

/** A resumed chatflow repeats its first text and never sends the rest (server §18). */
const isResumedChatflow = (envelope: Readonly<Record<string, unknown>>): boolean =>
  envelope["conversation_id"] !== undefined &&
  isObject(envelope["data"]) &&
  envelope["data"]["reason"] === "resumption";
