import type { Times } from "../times.ts";
import { groupDigits } from "../../lib/numbers.ts";
import type { Detail } from "../report-model.ts";
import { escapeControls } from "../display-width.ts";
import { tonedText } from "./cells.ts";
import { escapeHtml, escapeLine, hiddenText } from "./markup.ts";
import { tableHtml } from "./page-table.ts";

/** Characters that one text of a page shows, and all texts in its details together. */
const MAX_TEXT = 20_000;
const MAX_PAGE = 5_000_000;

/** Writes the details of one page, which has room for so many characters. */
export class PageDetails {
  readonly #times: Times;
  #room = MAX_PAGE;

  constructor(times: Times) {
    this.#times = times;
  }

  /** The details of a row, folded. */
  html(details: readonly Detail[], name: string): string {
    const labels = details.map(({ label }) => label).join(", ");
    const blocks = details.map((detail) => this.#block(detail, name)).join("\n");
    return `<details><summary>${escapeLine(labels)} ${hiddenText(`of ${name}`)}</summary><div class="blocks">\n${blocks}\n</div></details>`;
  }

  #block(detail: Detail, name: string): string {
    const { label } = detail;
    const content =
      "columns" in detail
        ? tableHtml(detail, { caption: `${label} of ${name}`, times: this.#times })
        : this.#text(detail);
    return `<div class="block"><h3>${escapeLine(label)}</h3>${content}</div>`;
  }

  #text({ label, value, tone }: Extract<Detail, { value: unknown }>): string {
    const text = typeof value === "string" ? value : jsonText(value);
    if (text === "") return `<p class="dim">empty</p>`;
    const shown = startOfText(text, Math.min(MAX_TEXT, this.#room));
    this.#room -= shown.length;
    const cut = text.length - shown.length;
    const note =
      cut === 0
        ? ""
        : `<p class="dim">Cut: ${groupDigits(shown.length)} of ${groupDigits(text.length)} characters are shown.</p>`;
    if (shown === "") return note;
    const content = tone === undefined ? escapeHtml(shown) : tonedText(shown, tone);
    // The parser drops a line end that follows the tag.
    return `<pre tabindex="0" aria-label="${escapeLine(label)}">\n${content}</pre>${note}`;
  }
}

function jsonText(value: unknown): string {
  try {
    return escapeControls(JSON.stringify(value, null, 2) ?? "");
  } catch (error) {
    if (error instanceof RangeError) return "The value is nested too deeply to display.";
    throw error;
  }
}

/** The start of a text, without half of a character at its end. */
const startOfText = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
