import { createHash } from "node:crypto";
import { shortened } from "../../lib/plural.ts";
import { version } from "../../lib/version.ts";
import type { Style } from "../formats/text-formats.ts";
import { timesFor } from "../formats/times.ts";
import type { Report, Section } from "../report-model.ts";
import { visible } from "../table/display-width.ts";
import { PageDetails } from "./details.ts";
import { escapeHtml, escapeLine } from "./markup.ts";
import css from "./page.css?raw";
import script from "./page-script.js?raw";

import { sectionHtml, sectionId } from "./page-section.ts";
import { paletteCss } from "./palette.ts";

/** Sections from which on a page begins with links to them. */
const MIN_LINKED = 3;

/** A report as one HTML file, which loads nothing and runs no script but its own. */
export function pageText(report: Report, style: Style): string {
  const { command = "report", action = "Report", verdict } = style.page ?? {};
  const { title = action } = report;
  const sections = pageSections(report);
  const times = timesFor(style, true);
  const parts = { times, details: new PageDetails(times) };
  const result = verdict?.();
  const body = sections.map((section, index) => sectionHtml(section, index + 1, parts));
  return [
    "<!DOCTYPE html>",
    '<html lang="en">',
    headOf(`${title} – ${command}`),
    "<body>",
    '<a class="skip" href="#report">Skip to the report</a>',
    `<header><p class="command">${escapeLine(command)}</p><h1>${escapeLine(title)}</h1>${generated(style)}</header>`,
    '<main id="report">',
    result ? `<p class="verdict ${result.tone ?? "plain"}">${escapeHtml(result.text)}</p>` : "",
    linksTo(sections),
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
function pageSections({ sections, screen: [first] = [], more }: Report): readonly Section[] {
  const all = more ? [...sections, ...more()] : sections;
  if (first === undefined || first.columns.length > 0 || first.comparison) return all;
  const { notes: _, ...summary } = first; // the tables have them, too
  return [summary, ...all];
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
  const { text, zone = "" } = timesFor(
    { ...style, times: style.times === "utc" ? "utc" : "local" },
    true,
  );
  const now = style.now();
  return `<p class="made">Generated <time datetime="${now.toISOString()}">${text(now)} ${zone}</time></p>`;
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
