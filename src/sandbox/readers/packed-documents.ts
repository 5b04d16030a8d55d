import { openArchive, textsAt } from "./archive.ts";
import { HTML, shownText, type Markup, OFFICE, XML } from "./markup.ts";

/** Makes a reader of a text in UTF-8. */
const textReader = (markup: Markup) => (bytes: Uint8Array) => [
  shownText(new TextDecoder().decode(bytes), markup),
];

/** Makes a reader of the texts at these paths of a ZIP: a part for each. */
const zipReader = (paths: RegExp, markup: Markup) => (bytes: Uint8Array) =>
  textsAt(openArchive(bytes), paths).map((text) => shownText(text, markup));

export const readHtml = textReader(HTML);
export const readXml = textReader(XML);
export const readDocx = zipReader(/^word\/(?:document|footnotes|endnotes)\d*\.xml$/, OFFICE);
export const readPptx = zipReader(/^ppt\/slides\/[^/]+\.xml$/, OFFICE);
export const readEpub = zipReader(/\.x?html?$/i, HTML);
