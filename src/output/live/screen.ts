import type { Host } from "../../host/host.ts";
import { withWrite } from "../stream-wrap.ts";

/** Lines on a terminal that are hidden while something else is written to it. */
interface LiveRegion {
  /** Removes the lines after writing those that are final. */
  hide(): Promise<void>;
  show(): Promise<void>;
}

/** A terminal on which lines may be redrawn. */
export interface Screen {
  /** Rows of the terminal, as they are now. */
  readonly rows: number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Hides the region during other writes; the returned function ends this. */
  share(region: LiveRegion): () => void;
}

/** Rows of a terminal of unknown height. */
const DEFAULT_ROWS = 24;

/** The host with a screen: writes to its stderr go above the live region. */
export function screenOf(host: Host): { readonly host: Host; readonly screen: Screen } {
  let shared: LiveRegion | undefined;
  let previous: Promise<unknown> = Promise.resolve();
  const write: Host["stderr"]["write"] = async (words) => {
    const region = host.stderr.isTTY ? shared : undefined;
    await region?.hide();
    await host.stderr.write(words);
    await region?.show();
  };
  // In sequence: hiding takes longer the first time.
  const stderr = withWrite(host.stderr, (words) => {
    const done = previous.then(() => write(words));
    previous = done.catch(() => {}); // reported to the writer
    return done;
  });
  return {
    host: { ...host, stderr },
    screen: {
      get rows() {
        return host.stdout.terminal?.rows ?? DEFAULT_ROWS;
      },
      sleep: (ms, signal) => host.sleep(ms, signal),
      share(region) {
        shared = region;
        return () => (shared = undefined);
      },
    },
  };
}
