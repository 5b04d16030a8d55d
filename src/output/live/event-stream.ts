import type { Output } from "../../host/host.ts";
import type { DisplayedEvent } from "./event-lines.ts";
import { InterleavedLines } from "./interleaved.ts";
import type { ViewStyle } from "./node-lines.ts";
import { Region } from "./redraw-region.ts";
import { RunView } from "./run-view.ts";
import type { Screen } from "./screen.ts";

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

/** ms between two redraws. */
const REDRAW_INTERVAL = 100;

/** Redraws one run below its final lines; times advance between events, too. */
export function redrawingPrinter(screen: Screen, style: ViewStyle, out: Output): EventPrinter {
  const view = new RunView(style);
  const region = new Region(out);
  const ended = new AbortController();
  let failure: { readonly error: unknown } | undefined;

  /** Number of other writers at work. */
  let hidden = 0;

  // The last column and the last row stay empty, so that the terminal does not wrap or scroll.
  const draw = async () => {
    if (hidden > 0) return;
    await region.draw(view.takeFinal(), view.liveLines(out.columns - 1, screen.rows - 1));
  };
  const clear = () => region.draw(view.takeFinal(), []);
  const keepDrawing = async () => {
    for (;;) {
      await screen.sleep(REDRAW_INTERVAL, ended.signal);
      await draw();
    }
  };

  const unshare = screen.share({
    hide() {
      hidden++;
      return clear();
    },
    show() {
      hidden--;
      return draw();
    },
  });
  const drawing = keepDrawing().catch((error: unknown) => {
    if (!ended.signal.aborted) failure = { error };
  });
  return {
    async show(events) {
      if (failure) throw failure.error;
      for (const event of events) view.add(event);
    },
    async end() {
      ended.abort();
      await drawing;
      unshare();
      view.end();
      await clear();
    },
  };
}
