import { diskFiles } from "../../src/host/node-files.ts";
import type { World } from "./support.ts";

/** Whether a journal of tests has gained a result: it also gains the runs that were started. */
export const hasResult = (text: string): boolean => text.includes('"result":');

/** A world that calls `then` with each text that was appended to a file, such as a journal. */
export const afterAppend = (then: (text: string) => unknown): Pick<World, "files"> => ({
  files: {
    async append(path, text) {
      await diskFiles.append(path, text);
      await then(text);
    },
  },
});

/** A world in which Ctrl-C is pressed once it is due after an append of this text. */
export function interruptedWhen(isDue: (text: string) => boolean): Pick<World, "files" | "signal"> {
  const stop = new AbortController();
  const press = (text: string) => isDue(text) && stop.abort("SIGINT");
  return { signal: stop.signal, ...afterAppend(press) };
}
