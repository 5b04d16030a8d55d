import { EventLines } from "./print-events.ts";
import type { DisplayedEvent, LiveStyle } from "./event-lines.ts";
import { visible } from "../table/display-width.ts";

/**
 * Lines of events of several runs. If an event names its run, its lines begin with that name and are
 * printed when they are complete, so that texts that grow at the same time do not mix:
 *
 *     a  node_started  Generate
 *     b  node_started  Translate
 *     a  Hello, world
 */
export class InterleavedLines {
  readonly #style: LiveStyle;
  readonly #runs = new Map<string | undefined, { lines: EventLines; incomplete: string }>();

  constructor(style: LiveStyle) {
    this.#style = style;
  }

  /** The text that the event adds to the output. */
  next(event: DisplayedEvent): string {
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
    const run = this.#runs.get(name) ?? { lines: new EventLines(this.#style), incomplete: "" };
    this.#runs.set(name, run);
    return run;
  }

  #prefixed(run: string, lines: string): string {
    const name = this.#style.colors.dim(visible(run));
    return lines.replace(/^(?=[^])/gm, `${name}  `);
  }
}
