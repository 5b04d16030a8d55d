import type { Host } from "../../host/host.ts";
import { withWrite } from "../stream-wrap.ts";

/** What is drawn on a terminal and has to make room when something else is written to it. */
interface Drawing {
  /** Leaves the screen, with what is settled written out. */
  hide(): Promise<void>;
  show(): Promise<void>;
}

/** A terminal on which lines may be redrawn. */
export interface Screen {
  /** Rows of the terminal, as they are now. */
  readonly rows: number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** From now on the drawing makes room; what is given back ends that. */
  share(drawing: Drawing): () => void;
}

/** Rows where a terminal does not say how many it has. */
const usualRows = 24;

/** The same host with a screen: writes to its standard error go above what is drawn there. */
export function screenOf(host: Host): { readonly host: Host; readonly screen: Screen } {
  let drawn: Drawing | undefined;
  let before: Promise<unknown> = Promise.resolve();
  const write: Host["stderr"]["write"] = async (words) => {
    const drawing = host.stderr.isTTY ? drawn : undefined;
    await drawing?.hide();
    await host.stderr.write(words);
    await drawing?.show();
  };
  // One after the other: making room takes longer the first time.
  const stderr = withWrite(host.stderr, (words) => {
    const done = before.then(() => write(words));
    before = done.catch(() => {}); // whoever wrote is told
    return done;
  });
  return {
    host: { ...host, stderr },
    screen: {
      get rows() {
        return host.stdout.terminal?.rows ?? usualRows;
      },
      sleep: (ms, signal) => host.sleep(ms, signal),
      share(drawing) {
        drawn = drawing;
        return () => (drawn = undefined);
      },
    },
  };
}
