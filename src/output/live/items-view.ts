import { stripVTControlCharacters } from "node:util";
import type { LiveItem, LiveItems, Report, ReportStep } from "../report-model.ts";
import { hang, visible } from "../display-width.ts";
import { textLine } from "../table/text-lines.ts";
import { formatElapsed, headOf, joinParts, plainParts, signOf, spinnerSign } from "./node-lines.ts";
import type { ViewStyle } from "./event-lines.ts";
import type { LinePart } from "../table/text-lines.ts";
import { ProgressLine } from "./progress.ts";
import type { LiveLines, TerminalWriter } from "./terminal-writer.ts";

/** The reports among the steps; until each comes, the items are shown live. */
export async function* withLiveItems(
  steps: AsyncIterable<ReportStep>,
  terminal: TerminalWriter,
  style: ViewStyle,
): AsyncGenerator<Report> {
  let lines: ReturnType<TerminalWriter["redraw"]> | undefined;
  const end = async () => {
    await lines?.end();
    lines = undefined;
  };
  try {
    for await (const step of steps) {
      lines?.check();
      if ("running" in step) {
        await end();
        lines = terminal.redraw(new ItemsView(step, style), style);
      }
      if (!("sections" in step)) continue;
      const isLive = lines !== undefined;
      await end();
      yield isLive && step.ending ? { ...step, screen: step.ending } : step;
    }
  } finally {
    await end();
  }
}

/**
 * Items that come and go:
 *
 *     ✓ passed       0.2 s  Leave: days of leave      final
 *     ✗ failed       1.3 s  Leave: parental leave     final, with its details
 *       expected  text contains "14 weeks"
 *       actual    it is "I do not know."
 *     ⠹ running      0.4 s  3/20  Leave: part time    redrawn until it ends
 *
 *     Running  2/40 tests · 1 failed · 0:42 left
 */
class ItemsView implements LiveLines {
  readonly #items: LiveItems;
  readonly #style: ViewStyle;
  readonly #progress: ProgressLine;

  constructor(items: LiveItems, style: ViewStyle) {
    this.#items = items;
    this.#style = style;
    this.#progress = new ProgressLine("Running", style.unicode);
  }

  takeFinal(): string {
    return this.#items
      .takeEnded()
      .map((item) => this.#endedLines(item))
      .join("");
  }

  liveLines(columns: number, rows: number): readonly string[] {
    const style = this.#style;
    const running = this.#items.running();
    const now = style.now().getTime();
    this.#progress.update(this.#items.progress(), now);
    const text = this.#progress.text(now, columns);
    const count = style.colors.dim(`${text}${this.#progress.timeLeft(now, columns)}`);
    if (running.length === 0 || rows < 3) return [count].slice(0, rows);
    const sign = spinnerSign(style);
    const shown = running.slice(0, rows - 2);
    return [...shown.map((item) => joinParts(partsOf(item, sign), style, columns)), "", count];
  }

  #endedLines(item: LiveItem): string {
    const style = this.#style;
    const parts = partsOf(item, signOf(item.state, style));
    const below = item.lines?.map((line) => textLine(line, style)) ?? [];
    // What has lines below it is read closely; anything else takes one row.
    const isShort = below.length === 0 || style.columns < MIN_COLUMNS;
    const head = isShort ? joinParts(parts, style, style.columns) : hanging(parts, style);
    return `${head}\n${below.join("")}`;
  }
}

/** Columns from which a long name continues below its beginning. */
const MIN_COLUMNS = 40;

/** The whole line; it continues below the name. */
function hanging(parts: readonly LinePart[], style: ViewStyle): string {
  const head = `${joinParts(parts.slice(0, -1), style, style.columns)}  `;
  const lead = stripVTControlCharacters(head);
  const lines = hang(lead, parts.at(-1)?.text ?? "", style.columns).join("\n");
  return head + lines.slice(lead.length);
}

const partsOf = ({ state, seconds, name, note }: LiveItem, sign: string): LinePart[] => [
  ...headOf(sign, state, seconds === null ? undefined : formatElapsed(seconds * 1000)),
  ...plainParts([note, visible(name)]),
];
