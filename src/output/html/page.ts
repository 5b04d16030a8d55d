import { createHash } from "node:crypto";
import { counted, shortened } from "../../lib/text.ts";
import { version } from "../../lib/version.ts";
import type { Style } from "../formats/text-formats.ts";
import { timesFor } from "../style.ts";
import type { Times } from "../style.ts";
import type {
  Cell,
  Report,
  Section,
  TextComparison,
  TextLine,
  TextPart,
  Detail,
} from "../report-model.ts";
import { visible, escapeControls } from "../display-width.ts";
import { overviewHtml } from "./page-plots.ts";
import {
  tonedText,
  chartHtml,
  tableHtml,
  escapeHtml,
  escapeLine,
  hiddenText,
} from "./page-table.ts";
import css from "../../lib/page/page.css?raw";
import script from "./page-script.js?raw";
import { paletteCss } from "../../lib/page/palette.ts";
import type { Anchors, TableOptions } from "./page-table.ts";
import type { TableField } from "../table/table.ts";
import { groupDigits } from "../../lib/numbers.ts";
import { stringifyJson } from "../../lib/json.ts";

/** Sections from which on a page begins with links to them. */
const MIN_LINKED = 3;

/** A report as one HTML file, which loads nothing and runs no script but its own. */
export async function pageText(report: Report, style: Style): Promise<string> {
  const { command = "report", action = "Report", verdict } = style.page ?? {};
  const { title = action } = report;
  const page = (await report.page?.()) ?? { sections: pageSections(report) };
  const times = timesFor(style, true);
  const parts = { times, details: new PageDetails(times), anchors: new Map<string, number>() };
  const result = verdict?.();
  const body = page.sections.map((section, index) => sectionHtml(section, index + 1, parts));
  return [
    "<!DOCTYPE html>",
    '<html lang="en">',
    headOf(`${title} – ${command}`),
    "<body>",
    '<a class="skip" href="#report">Skip to the report</a>',
    `<header><p class="command">${escapeLine(command)}</p><h1>${escapeLine(title)}</h1>${generated(style)}</header>`,
    '<main id="report">',
    result ? `<p class="verdict ${result.tone ?? "plain"}">${escapeHtml(result.text)}</p>` : "",
    ...overviewHtml(page, times),
    linksTo(page.sections),
    ...body,
    "</main>",
    `<footer><p>Made by ${escapeLine(command.split(" ")[0] ?? "")} ${version}. This file loads nothing from elsewhere.</p></footer>`,
    `<script>${pageScript}</script>`,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

/** All tables, after the text with which a terminal begins, if it shows any. */
function pageSections({ sections, screen: [first] = [] }: Report): readonly Section[] {
  if (first === undefined || first.columns.length > 0 || first.comparison) return sections;
  const { notes: _, ...summary } = first; // the tables have them, too
  return [summary, ...sections];
}

const pageStyle = paletteCss() + css;
// A script element ends at the first `</script`; ours has none, and no server text.
const pageScript = script;

function headOf(title: string): string {
  const policy = [
    "default-src 'none'",
    `style-src '${sourceHash(pageStyle)}'`,
    `script-src '${sourceHash(pageScript)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return [
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${escapeLine(shortened(visible(title), MAX_TITLE))}</title>`,
    `<style>${pageStyle}</style>`,
    "</head>",
  ].join("\n");
}

/** Characters of a title that browsers and lists of results show. */
const MAX_TITLE = 65;

/** The hash of an inline style or script, as a Content Security Policy names it. */
const sourceHash = (text: string): string =>
  `sha256-${createHash("sha256").update(text).digest("base64")}`;

function generated(style: Style): string {
  const { full } = timesFor({ ...style, times: style.times === "utc" ? "utc" : "local" }, true);
  const now = style.now();
  return `<p class="made">Generated <time datetime="${now.toISOString()}">${full(now)}</time></p>`;
}

function linksTo(sections: Report["sections"]): string {
  const links = sections.flatMap(({ title }, index) =>
    title === undefined
      ? []
      : [`<li><a href="#${sectionId(index + 1)}">${escapeLine(title)}</a></li>`],
  );
  if (links.length < MIN_LINKED) return "";
  return `<nav aria-label="Sections"><ul>${links.join("")}</ul></nav>`;
}

interface PageParts {
  readonly times: Times;
  readonly details: PageDetails;
  readonly anchors: Anchors;
}

function sectionHtml(section: Section, number: number, page: PageParts): string {
  const { times, details, anchors } = page;
  const { title, lines = [], comparison, columns, rows, notes = [], footnotes = [] } = section;
  const caption = title ?? `table ${number}`;
  const unfold: TableOptions["unfold"] = (...row) => details.html(...row);
  const table = () => tableHtml(section, { caption, times, anchors, unfold });
  return [
    `<section class="part" id="${sectionId(number)}">`,
    title === undefined ? "" : `<h2>${escapeLine(title)}</h2>`,
    ...lines.map(lineHtml),
    comparison ? comparisonHtml(comparison) : "",
    columns.length === 0 ? "" : folded(section, table()),
    columns.length > 0 && rows.length === 0 ? `<p class="dim">No rows.</p>` : "",
    ...[...notes, ...footnotes].map((note) => `<p class="note">${escapeHtml(note)}</p>`),
    "</section>",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

/** The table, behind a line that opens it if the section is folded. */
const folded = ({ folded: isFolded, rows }: Section, table: string): string =>
  isFolded
    ? `<details class="rest"><summary>Show ${counted(rows.length, "row")}</summary>${table}</details>`
    : table;

const sectionId = (number: number): string => `section-${number}`;

/**
 * Two texts side by side, or one below the other on a narrow page. What only one of them has is struck through
 * or underlined without color, and named to readers that hear the page.
 */
function comparisonHtml({ titles, parts }: TextComparison): string {
  const sides = (["first", "second"] as const).map((side, index) => {
    const title = titles[index] ?? "";
    const element = side === "first" ? "del" : "ins";
    const pieces = parts.map(({ text, in: where }) => {
      if (where === "both") return escapeHtml(text);
      const words = text.trimEnd();
      if (where !== side || words === "") return "";
      return `<${element}>${hiddenText("only here:")}${escapeHtml(words)}</${element}>${escapeHtml(text.slice(words.length))}`;
    });
    const content = pieces.join("") || '<span class="dim">nothing</span>';
    return `<div class="side"><h3>${escapeLine(title)}</h3><p class="compared">${content}</p></div>`;
  });
  return `<div class="sides">${sides.join("\n")}</div>`;
}

const lineHtml = ({ lead = "", parts }: TextLine): string =>
  `<p class="line">${escapeHtml(lead)}${parts.map(partHtml).join(" ")}</p>`;

const partHtml = ({ text, tone, trend }: TextPart): string =>
  [
    `<span class="item">${tone === undefined ? escapeHtml(text) : tonedText(text, tone)}</span>`,
    trend === undefined ? "" : chartHtml({ chart: "spark", values: trend }),
  ].join("");

/** The rows of a list as a report. */
export const reportOfList = (rows: readonly unknown[], fields: readonly TableField[]): Report => ({
  data: rows,
  sections:
    rows.length === 0
      ? []
      : [
          {
            columns: fields.map(({ label }) => ({ label })),
            rows: rows.map((row) => fields.map(({ value }) => cellOf(value(row)))),
          },
        ],
});

const cellOf = (value: unknown): Cell => {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean" || value instanceof Date)
    return value;
  return typeof value === "string" ? value : stringifyJson(value);
};

/** Characters that one text of a page shows, and all texts in its details together. */
const MAX_TEXT = 20_000;
const MAX_PAGE = 5_000_000;

/** Writes the details of one page, which has room for so many characters. */
class PageDetails {
  readonly #times: Times;
  #room = MAX_PAGE;

  constructor(times: Times) {
    this.#times = times;
  }

  /** The details of a row, folded. */
  html(details: readonly Detail[], name: string, isOpen = false): string {
    const labels = [...new Set(details.map(({ label }) => label))].join(", ");
    const blocks = details.map((detail) => this.#block(detail, name)).join("\n");
    return `<details${isOpen ? " open" : ""}><summary>${escapeLine(labels)} ${hiddenText(`of ${name}`)}</summary><div class="blocks">\n${blocks}\n</div></details>`;
  }

  #block(detail: Detail, name: string): string {
    const { label } = detail;
    if ("comparison" in detail)
      return `<div class="block whole">${comparisonHtml(detail.comparison)}</div>`;
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
    return escapeControls(stringifyJson(value, 2) ?? "");
  } catch (error) {
    if (error instanceof RangeError) return "The value is nested too deeply to display.";
    throw error;
  }
}

/** The start of a text, without half of a character at its end. */
const startOfText = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
