import type { ServerEvent } from "../../lib/server-event.ts";
import { counted } from "../../lib/plural.ts";
import { visible } from "../display-width.ts";
import type { ViewStyle } from "./node-lines.ts";
import { RunView } from "./run-view.ts";
import type { LiveLines } from "./terminal-writer.ts";

/** A run with its final lines, which its block shows until the run ends. */
interface Block {
  readonly view: RunView;
  lines: string;
}

/** Rows of a block: its name, a node and the run. */
const MIN_ROWS = 3;

/**
 * The view of several runs, each with a block of its own. The blocks of active runs are redrawn; that
 * of a run that has ended is printed as a whole above them.
 */
export class RunsView implements LiveLines {
  readonly #style: ViewStyle;
  /** Runs that have not ended, by name. */
  readonly #blocks = new Map<string, Block>();
  #final = "";

  constructor(style: ViewStyle) {
    this.#style = style;
  }

  /** Adds an event that names its run. */
  add(event: ServerEvent): void {
    const { run: name = "" } = event;
    const block = this.#blocks.get(name) ?? { view: new RunView(this.#style), lines: "" };
    this.#blocks.set(name, block);
    block.view.add(event);
    block.lines += block.view.takeFinal();
    if (event.event === "workflow_finished") this.#finish(name, block);
  }

  /** Makes all lines final: no further event follows. */
  end(): void {
    for (const [name, block] of this.#blocks) this.#finish(name, block);
  }

  takeFinal(): string {
    const lines = this.#final;
    this.#final = "";
    return lines;
  }

  liveLines(columns: number, rows: number): readonly string[] {
    const fitting = Math.max(1, Math.floor((rows - 1) / MIN_ROWS));
    const shown = [...this.#blocks].slice(0, fitting);
    const hidden = this.#blocks.size - shown.length;
    const rest = hidden > 0 ? [`${counted(hidden, "more run")}`] : [];
    const each = Math.floor((rows - rest.length) / Math.max(1, shown.length));
    return [...shown.flatMap((block) => this.#blockLines(block, columns, each)), ...rest].slice(
      0,
      rows,
    );
  }

  /** The name of a run, its newest final lines, and those that still change. */
  #blockLines([name, { view, lines }]: [string, Block], columns: number, rows: number): string[] {
    const live = view.liveLines(columns, rows - 1);
    const room = Math.max(0, rows - 1 - live.length);
    const final = lines === "" || room === 0 ? [] : lines.trimEnd().split("\n").slice(-room);
    return [this.#style.colors.bold(visible(name)), ...final, ...live];
  }

  #finish(name: string, { view, lines }: Block): void {
    view.end();
    this.#final += `${this.#style.colors.bold(visible(name))}\n${lines}${view.takeFinal()}`;
    this.#blocks.delete(name);
  }
}
