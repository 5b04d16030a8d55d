import { strToU8, zipSync } from "fflate";

/** Writes a ZIP of texts by their paths. */
export const archive = (files: Readonly<Record<string, string>>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)])));

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const schemas = "http://schemas.openxmlformats.org";

/** A Word document with this XML as its body. */
export const docx = (body: string, more: Readonly<Record<string, string>> = {}): Uint8Array =>
  archive({
    "word/document.xml": `${declaration}<w:document xmlns:w="${schemas}/wordprocessingml/2006/main" xmlns:mc="${schemas}/markup-compatibility/2006"><w:body>${body}<w:sectPr/></w:body></w:document>`,
    "word/footnotes.xml": `${declaration}<w:footnotes xmlns:w="${schemas}/wordprocessingml/2006/main"/>`,
    ...more,
  });

/** A paragraph of Word in one run. */
export const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

/** A presentation of these slides. */
export const pptx = (slides: readonly string[]): Uint8Array =>
  archive({
    "ppt/presentation.xml": `${declaration}<p:presentation xmlns:p="p"/>`,
    ...Object.fromEntries(
      slides.map((text, index) => [
        `ppt/slides/slide${index + 1}.xml`,
        `${declaration}<p:sld xmlns:p="p" xmlns:a="a"><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sld>`,
      ]),
    ),
  });

/** A workbook of one sheet with these rows as XML. */
export const xlsx = (rows: string, sharedTexts: readonly string[] = []): Uint8Array =>
  archive({
    "xl/workbook.xml": `${declaration}<workbook><sheets><sheet name="Plan" sheetId="1"/></sheets></workbook>`,
    "xl/sharedStrings.xml": `${declaration}<sst>${sharedTexts.map((text) => `<si>${text}</si>`).join("")}</sst>`,
    "xl/worksheets/sheet1.xml": `${declaration}<worksheet><sheetData>${rows}</sheetData></worksheet>`,
  });

/** A book with these chapters as bodies of XHTML. */
export const epub = (
  chapters: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Uint8Array =>
  archive({
    mimetype: "application/epub+zip",
    ...Object.fromEntries(
      chapters.map((body, index) => [
        `OEBPS/text files/${index}.xhtml`,
        `${declaration}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>${body}</body></html>`,
      ]),
    ),
    ...more,
  });
