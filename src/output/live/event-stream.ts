import type { Output } from "../../host/host.ts";
import type { DisplayedEvent } from "./event-lines.ts";
import { interleaved } from "./interleaved.ts";
import type { ViewStyle } from "./node-lines.ts";
import { region } from "./redraw-region.ts";
import { runView } from "./run-view.ts";
import type { Screen } from "./screen.ts";

/** Shows events to people as they come. */
export interface EventPrinter {
  show(events: readonly DisplayedEvent[]): Promise<void>;
  /** Ends what was begun; whatever was shown stays. */
  end(): Promise<void>;
}

/** Line after line, and texts as they grow. */
export function inLines(dress: ViewStyle, out: Output): EventPrinter {
  const lines = interleaved(dress);
  const write = async (text: string) => {
    if (text !== "") await out.write(text);
  };
  return {
    show: (events) => write(events.map((event) => lines.next(event)).join("")),
    end: () => write(lines.end()),
  };
}

/** Can it be drawn as one run? Then it begins where a run begins. */
export const isRun = ([first]: readonly DisplayedEvent[]): boolean =>
  first?.event === "workflow_started" && first.run === undefined;

/** ms between two drawings. */
const beat = 100;

/** One run, redrawn below what is settled; times go on while nothing comes. */
export function redrawn(screen: Screen, dress: ViewStyle, out: Output): EventPrinter {
  const view = runView(dress);
  const below = region(out);
  const ended = new AbortController();
  let failure: { readonly error: unknown } | undefined;

  /** How many others are writing. */
  let hidden = 0;

  // The last column and the last row stay free, so that nothing wraps or scrolls by itself.
  const draw = async () => {
    if (hidden > 0) return;
    await below.draw(view.settled(), view.changing(out.columns - 1, screen.rows - 1));
  };
  const clear = () => below.draw(view.settled(), []);
  const keepDrawing = async () => {
    for (;;) {
      await screen.sleep(beat, ended.signal);
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
      for (const event of events) view.see(event);
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
