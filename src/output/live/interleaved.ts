import { live } from "./print-events.ts";
import type { LiveStyle, DisplayedEvent } from "./event-lines.ts";
import type { Live } from "./print-events.ts";
import { visible } from "../table/display-width.ts";

/**
 * Lines of events that may belong to several runs: where an event names its run, whole lines begin
 * with that name, so that texts that grow side by side never mix in one line.
 */
export function interleaved(dress: LiveStyle): Live {
  const runs = new Map<string | undefined, { lines: Live; begun: string }>();

  const lineOf = (run: string | undefined) => {
    let found = runs.get(run);
    if (found === undefined) runs.set(run, (found = { lines: live(dress), begun: "" }));
    return found;
  };
  const prefixed = (run: string, lines: string) => {
    const name = dress.paint.dim(visible(run));
    return lines.replace(/^(?=[^])/gm, `${name}  `);
  };

  return {
    next(event: DisplayedEvent) {
      const { run } = event;
      const line = lineOf(run);
      const text = line.lines.next(event);
      if (run === undefined) return text;
      const all = line.begun + text;
      const end = all.lastIndexOf("\n") + 1;
      line.begun = all.slice(end);
      return prefixed(run, all.slice(0, end));
    },
    end() {
      let text = "";
      for (const [run, line] of runs) {
        const rest = line.begun + line.lines.end();
        text += run === undefined ? rest : prefixed(run, rest);
      }
      runs.clear();
      return text;
    },
  };
}
