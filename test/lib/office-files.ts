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

const relations = `${schemas}/officeDocument/2006/relationships`;

/** A spreadsheet: the XML of the rows of each sheet, by its name, the XML of shared texts, and of other parts. */
export function xlsx(
  sheets: Readonly<Record<string, string>>,
  shared: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
): Uint8Array {
  const names = Object.keys(sheets);
  // Parts are numbered against the order of the sheets: only the relations tell which is which.
  const part = (at: number) => `worksheets/sheet${names.length - at}.xml`;
  const main = `xmlns="${schemas}/spreadsheetml/2006/main"`;
  return archive({
    "xl/workbook.xml": `${declaration}<workbook ${main} xmlns:r="${relations}"><sheets>${names
      .map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`)
      .join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${declaration}<Relationships xmlns="${schemas}/package/2006/relationships">${names
      .map(
        (_, at) =>
          `<Relationship Id="rId${at + 1}" Target="${at % 2 === 0 ? "" : "/xl/"}${part(at)}"/>`,
      )
      .join("")}</Relationships>`,
    "xl/sharedStrings.xml": `${declaration}<sst ${main}>${shared
      .map((text) => `<si>${text.startsWith("<") ? text : `<t>${text}</t>`}</si>`)
      .join("")}</sst>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, at) => [
        `xl/${part(at)}`,
        `${declaration}<worksheet ${main}><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    ...more,
  });
}
