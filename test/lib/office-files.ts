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
