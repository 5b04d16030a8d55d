import { strToU8, zipSync } from "fflate";

/** Writes a ZIP of texts by their paths. */
export const archive = (files: Readonly<Record<string, string>>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)])));

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const schemas = "http://schemas.openxmlformats.org";

/** A file of links: the IDs are rId1, rId2 … in their order. */
const links = (...targets: readonly (readonly [kind: string, path: string])[]) =>
  `${declaration}<Relationships xmlns="${schemas}/package/2006/relationships">${targets
    .map(
      ([kind, path], index) =>
        `<Relationship Id="rId${index + 1}" Type="${schemas}/officeDocument/2006/relationships/${kind}" Target="${path}"/>`,
    )
    .join("")}</Relationships>`;

/** A Word document with this XML as its body. */
export const docx = (body: string, more: Readonly<Record<string, string>> = {}): Uint8Array =>
  archive({
    "_rels/.rels": links(["officeDocument", "word/document.xml"]),
    "word/document.xml": `${declaration}<w:document xmlns:w="${schemas}/wordprocessingml/2006/main" xmlns:mc="${schemas}/markup-compatibility/2006"><w:body>${body}<w:sectPr/></w:body></w:document>`,
    "word/_rels/document.xml.rels": links(["footnotes", "footnotes.xml"], ["styles", "styles.xml"]),
    "word/footnotes.xml": `${declaration}<w:footnotes xmlns:w="${schemas}/wordprocessingml/2006/main"/>`,
    ...more,
  });

/** A paragraph of Word in one run. */
export const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

/** A presentation; the slides are shown in another order than their files are named. */
export function pptx(slides: readonly string[]): Uint8Array {
  const names = slides.map((_, index) => `slides/slide${slides.length - index}.xml`);
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`);
  return archive({
    "_rels/.rels": links(["officeDocument", "ppt/presentation.xml"]),
    "ppt/presentation.xml": `${declaration}<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${ids.join("")}</p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": links(...names.map((path) => ["slide", path] as const)),
    ...Object.fromEntries(
      slides.map((text, index) => [
        `ppt/${names[index]}`,
        `${declaration}<p:sld xmlns:p="p" xmlns:a="a"><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sld>`,
      ]),
    ),
  });
}

/** A workbook of one sheet with these rows as XML; `s="1"` is the style of a date. */
export const xlsx = (rows: string, sharedTexts: readonly string[] = []): Uint8Array =>
  archive({
    "_rels/.rels": links(["officeDocument", "xl/workbook.xml"]),
    "xl/workbook.xml": `${declaration}<workbook xmlns:r="r"><sheets><sheet name="Plan" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": links(
      ["worksheet", "worksheets/sheet1.xml"],
      ["sharedStrings", "sharedStrings.xml"],
      ["styles", "/xl/styles.xml"],
    ),
    "xl/sharedStrings.xml": `${declaration}<sst>${sharedTexts.map((text) => `<si>${text}</si>`).join("")}</sst>`,
    "xl/styles.xml": `${declaration}<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="0.0 &quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>`,
    "xl/worksheets/sheet1.xml": `${declaration}<worksheet><sheetData>${rows}</sheetData></worksheet>`,
  });

/** A book with these chapters as bodies of XHTML. */
export const epub = (
  chapters: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Uint8Array =>
  archive({
    mimetype: "application/epub+zip",
    "META-INF/container.xml": `${declaration}<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
    "OEBPS/book.opf": `${declaration}<package><manifest>${chapters
      .map((_, index) => `<item id="c${index}" href="text%20files/${index}.xhtml"/>`)
      .join(
        "",
      )}</manifest><spine>${chapters.map((_, index) => `<itemref idref="c${index}"/>`).join("")}</spine></package>`,
    ...Object.fromEntries(
      chapters.map((body, index) => [
        `OEBPS/text files/${index}.xhtml`,
        `${declaration}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>${body}</body></html>`,
      ]),
    ),
    ...more,
  });
