import type { Output } from "../../host/host.ts";
import type { DisplayedEvent } from "./event-lines.ts";
import { InterleavedLines } from "./interleaved.ts";
import type { ViewStyle } from "./node-lines.ts";
import { RunView } from "./run-view.ts";
import type { TerminalWriter } from "./terminal-writer.ts";

/** Displays events as they arrive. */
export interface EventPrinter {
  show(events: readonly DisplayedEvent[]): Promise<void>;
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

/** Whether the events are those of one run from its start. */
export const isRun = ([first]: readonly DisplayedEvent[]): boolean =>
  first?.event === "workflow_started" && first.run === undefined;

/** Redraws one run below its final lines. */
export function redrawingPrinter(terminal: TerminalWriter, style: ViewStyle): EventPrinter {
  const view = new RunView(style);
  const lines = terminal.redraw(view);
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
