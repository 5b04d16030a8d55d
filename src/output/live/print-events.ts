import {
  linesBelow,
  eventLine,
  isSilent,
  lookInto,
  textEvents,
  replacement,
  textOf,
} from "./event-lines.ts";
import type { DisplayedEvent, LiveStyle } from "./event-lines.ts";
import { visible } from "../table/display-width.ts";

/** Prints the events of a run as lines, one after the other; texts grow below the line before them. */
export class EventLines {
  readonly #style: LiveStyle;
  #growing: "answer" | "reasoning" | undefined;
  #isLineOpen = false;
  /** How much of the run's text was displayed: the outputs at the end supply the rest. */
  #displayed: "nothing" | "all" | "part" = "nothing";

  constructor(style: LiveStyle) {
    this.#style = style;
  }

  /** The text that the event adds to the output: lines, or a piece of a growing text. */
  next(event: DisplayedEvent): string {
    const piece = textEvents.get(event.event);
    if (piece) return this.#piece(event, ...piece);
    if (isSilent(event)) return "";
    const answer = replacement(event);
    if (answer !== undefined) {
      const line = `${this.end()}${eventLine(event, this.#style)}\n`;
      this.#growing = "answer";
      return line + this.#grow(answer);
    }
    if (event.event === "message_replace" || event.event === "text_replace") return "";
    // After a lost connection or a pause, text is missing; only the outputs have it (server §15.6).
    if (event.event === "_gap" || lookInto(event)("reason") === "resumption")
      this.#displayed = "part";
    const lines = linesBelow(event, this.#displayed === "all", this.#style);
    return `${this.end()}${eventLine(event, this.#style)}\n${lines}`;
  }

  /** The text that completes the output: a line end after a text without one. */
  end(): string {
    const end = this.#isLineOpen ? "\n" : "";
    this.#growing = undefined;
    this.#isLineOpen = false;
    return end;
  }

  #piece(event: DisplayedEvent, field: string, kind: "answer" | "reasoning"): string {
    const piece = textOf(lookInto(event)(field));
    if (piece === undefined) return "";
    const label = kind === "reasoning" ? "reasoning: " : "";
    const start = this.#growing === kind ? "" : this.end() + label;
    this.#growing = kind;
    if (kind === "answer" && this.#displayed === "nothing") this.#displayed = "all";
    return start + this.#grow(piece);
  }

  #grow(piece: string): string {
    this.#isLineOpen = !piece.endsWith("\n");
    return visible(piece, { newlines: true });
  }
}
