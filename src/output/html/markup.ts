import { visible } from "../display-width.ts";

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Any text as content of an element or of a quoted attribute. Control and bidi characters become visible
 * ones, as on a terminal; line ends stay.
 */
export const escapeHtml = (text: string): string =>
  visible(text, { newlines: true })
    .replace(/\p{Noncharacter_Code_Point}/gu, "\u{FFFD}")
    .replace(/[&<>"']/g, (found) => entities[found] ?? "");

/** The same on one line. */
export const escapeLine = (text: string): string => escapeHtml(text.replace(/\s+/g, " ").trim());

/** Text for readers that hear the page. */
export const hiddenText = (text: string): string =>
  `<span class="hidden">${escapeLine(text)}</span>`;
