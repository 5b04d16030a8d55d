import type { Output } from "../../host/host.ts";
import { visible, widthOf } from "../display-width.ts";
import type { ServerEvent } from "../../lib/server-event.ts";
import { AnswerWatch, eventLine, isSilent, linesBelow, replacement } from "./event-lines.ts";
import type { TextPiece, ViewStyle } from "./event-lines.ts";
import { RunView } from "./run-view.ts";
import type { TerminalWriter } from "./terminal-writer.ts";

/** Displays events as they arrive. */
export interface EventPrinter {
  show(events: readonly ServerEvent[]): Promise<void>;
  /** Completes the output; printed lines stay. */
  end(): Promise<void>;
}

/** Prints events line by line, and texts as they grow. */
export function linePrinter(style: ViewStyle, out: Output): EventPrinter {
  const lines = new InterleavedLines(style);
  const write = async (text: string) => {
    if (text !== "") await out.write(text);
  };
  return {
    show: (events) => write(events.map((event) => lines.next(event)).join("")),
    end: () => write(lines.end()),
  };
}

/** Whether the events are those of one run from its start: with several, each event names its run. */
export const isOneRun = ([first]: readonly ServerEvent[]): boolean =>
  first?.event === "workflow_started" && first.run === undefined;

/** Redraws a run below its final lines. */
export function redrawingPrinter(terminal: TerminalWriter, style: ViewStyle): EventPrinter {
  const view = new RunView(style);
  const lines = terminal.redraw(view, style);
  return {
    async show(events) {
      lines.check();
      for (const event of events) view.add(event);
    },
    async end() {
      view.end();
      await lines.end();
    },
  };
}

/**
 * Lines of events of several runs. If an event names its run, its lines begin with that name and are
 * printed when they are complete, so that texts that grow at the same time do not mix:
 *
 *     a  node_started  Generate
 *     b  node_started  Translate
 *     a  Hello, world
 */
class InterleavedLines {
  readonly #style: ViewStyle;
  readonly #runs = new Map<string | undefined, { lines: EventLines; incomplete: string }>();

  constructor(style: ViewStyle) {
    this.#style = style;
  }

  /** The text that the event adds to the output. */
  next(event: ServerEvent): string {
    const run = this.#run(event.run);
    const text = run.lines.next(event);
    if (event.run === undefined) return text;
    const all = run.incomplete + text;
    const end = all.lastIndexOf("\n") + 1;
    run.incomplete = all.slice(end);
    return this.#prefixed(event.run, all.slice(0, end));
  }

  /** The text that completes the output. */
  end(): string {
    const texts = [...this.#runs].map(([name, { lines, incomplete }]) => {
      const rest = incomplete + lines.end();
      return name === undefined ? rest : this.#prefixed(name, rest);
    });
    this.#runs.clear();
    return texts.join("");
  }

  #run(name: string | undefined) {
    const run = this.#runs.get(name) ?? {
      lines: new EventLines(this.#styleFor(name)),
      incomplete: "",
    };
    this.#runs.set(name, run);
    return run;
  }

  /** The lines of a run with a name are shorter by it. */
  #styleFor(name: string | undefined): ViewStyle {
    if (name === undefined) return this.#style;
    return { ...this.#style, columns: this.#style.columns - widthOf(visible(name)) - 2 };
  }

  #prefixed(run: string, lines: string): string {
    const name = this.#style.colors.dim(visible(run));
    return lines.replace(/^(?=[^])/gm, `${name}  `);
  }
}

/** Prints the events of a run as lines, one after the other; texts grow below the line before them. */
class EventLines {
  readonly #style: ViewStyle;
  readonly #answer = new AnswerWatch();
  #growing: TextPiece["kind"] | undefined;
  #isLineOpen = false;

  constructor(style: ViewStyle) {
    this.#style = style;
  }

  /** The text that the event adds to the output: lines, or a piece of a growing text. */
  next(event: ServerEvent): string {
    const piece = this.#answer.add(event);
    if (piece) return this.#piece(piece);
    if (isSilent(event)) return "";
    const answer = replacement(event);
    if (answer !== undefined) {
      const line = `${this.end()}${eventLine(event, this.#style)}\n`;
      this.#growing = "answer";
      return line + this.#grow(answer);
    }
    if (event.event === "message_replace" || event.event === "text_replace") return "";
    const lines = linesBelow(event, this.#answer, this.#style);
    return `${this.end()}${eventLine(event, this.#style)}\n${lines}`;
  }

  /** The text that completes the output: a line end after a text without one. */
  end(): string {
    const end = this.#isLineOpen ? "\n" : "";
    this.#growing = undefined;
    this.#isLineOpen = false;
    return end;
  }

  #piece({ kind, text }: TextPiece): string {
    if (text === undefined) return "";
    const label = kind === "reasoning" ? "reasoning: " : "";
    const start = this.#growing === kind ? "" : this.end() + label;
    this.#growing = kind;
    return start + this.#grow(text);
  }

  #grow(piece: string): string {
    this.#isLineOpen = !piece.endsWith("\n");
    return visible(piece, { newlines: true });
  }
}
