import type { Section, TextComparison, TextLine, TextPart } from "../report-model.ts";
import type { Times } from "../formats/times.ts";
import { tonedText } from "./cells.ts";
import type { PageDetails } from "./details.ts";
import { escapeHtml, escapeLine, hiddenText } from "./markup.ts";
import { chartHtml } from "./page-charts.ts";
import { tableHtml } from "./page-table.ts";

/** A section of a page, which has this number. */
export function sectionHtml(
  section: Section,
  number: number,
  { times, details }: { readonly times: Times; readonly details: PageDetails },
): string {
  const { title, lines = [], comparison, columns, rows, notes = [] } = section;
  const caption = title ?? `table ${number}`;
  return [
    `<section class="part" id="${sectionId(number)}">`,
    title === undefined ? "" : `<h2>${escapeLine(title)}</h2>`,
    ...lines.map(lineHtml),
    comparison ? comparisonHtml(comparison) : "",
    columns.length === 0
      ? ""
      : tableHtml(section, {
          caption,
          times,
          unfold: (blocks, name) => details.html(blocks, name),
        }),
    columns.length > 0 && rows.length === 0 ? `<p class="dim">No rows.</p>` : "",
    ...notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`),
    "</section>",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

/** The anchor of a section. */
export const sectionId = (number: number): string => `section-${number}`;

/** One text with the words of both: without color they are struck through or underlined, and named to readers. */
function comparisonHtml({ titles: [first, second], parts }: TextComparison): string {
  const marked = (element: "del" | "ins", title: string, text: string) =>
    `<${element}>${hiddenText(`${title}:`)} ${escapeHtml(text.trimEnd())}</${element}>${text.slice(text.trimEnd().length)}`;
  const pieces = parts.map(({ text, in: side }) => {
    if (side === "both") return escapeHtml(text);
    return side === "first" ? marked("del", first, text) : marked("ins", second, text);
  });
  const legend = `<del>${escapeLine(first)}</del> <ins>${escapeLine(second)}</ins>`;
  return `<p class="note">${legend}</p>\n<p class="compared">${pieces.join("")}</p>`;
}

const lineHtml = ({ lead = "", parts }: TextLine): string =>
  `<p class="line">${escapeHtml(lead)}${parts.map(partHtml).join(" ")}</p>`;

const partHtml = ({ text, tone, trend }: TextPart): string =>
  [
    `<span class="item">${tone === undefined ? escapeHtml(text) : tonedText(text, tone)}</span>`,
    trend === undefined ? "" : chartHtml({ chart: "spark", values: trend }),
  ].join("");
