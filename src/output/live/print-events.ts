import { below, eventLine, lookInto, pieces, isSilent, replacement, text } from "./event-lines.ts";
import type { LiveStyle, DisplayedEvent } from "./event-lines.ts";
import { visible } from "../table/display-width.ts";

/** Events as people follow them. */
export interface Live {
  /** What the event adds to the output: a line, several, or a piece of a growing text. */
  next(event: DisplayedEvent): string;
  /** What ends the output: a line end where a text has none. */
  end(): string;
}

/** Turns events into lines, one after the other: texts grow below the line before them. */
export function live(dress: LiveStyle): Live {
  let growing: "answer" | "reasoning" | undefined;
  let openLine = false;
  /** How much of the run's text was shown: the outputs at its end make up for the rest. */
  let shown: "nothing" | "all" | "part" = "nothing";

  const close = (): string => {
    const end = openLine ? "\n" : "";
    growing = undefined;
    openLine = false;
    return end;
  };
  const grow = (more: string): string => {
    openLine = !more.endsWith("\n");
    return visible(more, { newlines: true });
  };

  return {
    next(event) {
      const piece = pieces.get(event.event);
      if (piece) {
        const [field, as] = piece;
        const more = text(lookInto(event)(field));
        if (more === undefined) return "";
        const start = growing === as ? "" : close() + (as === "reasoning" ? "reasoning: " : "");
        growing = as;
        if (as === "answer" && shown === "nothing") shown = "all";
        return start + grow(more);
      }
      if (isSilent(event)) return "";
      const instead = replacement(event);
      if (instead !== undefined) {
        const line = `${close()}${eventLine(event, dress)}\n`;
        growing = "answer";
        return line + grow(instead);
      }
      if (event.event === "message_replace" || event.event === "text_replace") return "";
      // After a cut or a pause text is missing, and only the outputs have it (server §15.6).
      if (event.event === "_gap" || lookInto(event)("reason") === "resumption") shown = "part";
      return `${close()}${eventLine(event, dress)}\n${below(event, shown === "all", dress)}`;
    },
    end: close,
  };
}
