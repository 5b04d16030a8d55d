import { deflateSync } from "node:zlib";

/** An object of a PDF: its text, or a stream with the content that is stored for it. */
type PdfObject = string | { readonly filter: string; readonly content: Uint8Array };

/** A stream that is stored as it is. */
export const plain = (text: string): PdfObject => ({ filter: "", content: Buffer.from(text) });

/** A compressed stream. */
export const packed = (text: string | Uint8Array): PdfObject => ({
  filter: "/Filter /FlateDecode",
  content: deflateSync(text),
});

/** Writes a PDF of these objects, numbered from 1; the first one is its catalog. */
export function pdfOf(objects: readonly PdfObject[]): Uint8Array {
  const pieces: Buffer[] = [Buffer.from("%PDF-1.5\n")];
  const offsets: number[] = [];
  const length = () => pieces.reduce((sum, piece) => sum + piece.length, 0);
  for (const [index, object] of objects.entries()) {
    offsets.push(length());
    pieces.push(Buffer.from(`${index + 1} 0 obj\n`));
    if (typeof object === "string") pieces.push(Buffer.from(object));
    else {
      const { filter, content } = object;
      pieces.push(Buffer.from(`<< /Length ${content.length} ${filter} >>\nstream\n`));
      pieces.push(Buffer.from(content), Buffer.from("\nendstream"));
    }
    pieces.push(Buffer.from("\nendobj\n"));
  }
  const start = length();
  const lines = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${lines.join("")}`;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(table + trailer)]);
}

/** The codes of characters in hexadecimal: those of a font whose glyphs are numbered by UTF-16. */
const hexadecimal = (text: string) => Buffer.from(text, "utf16le").swap16().toString("hex");

/** Tells that each glyph of the font is the character with its number. */
const toUnicode = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /All def
1 begincodespacerange <0000> <FFFF> endcodespacerange
1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap end end`;

/** A PDF with a page for each of the texts, compressed, in any script. */
export function pdf(pages: readonly string[]): Uint8Array {
  const first = 7;
  const kids = pages.map((_, index) => `${first + 2 * index} 0 R`).join(" ");
  const font = "/Type /Font /BaseFont /Any";
  return pdfOf([
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    `<< ${font} /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 6 0 R >>`,
    `<< ${font} /Subtype /CIDFontType2 /FontDescriptor 5 0 R /DW 1000 /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>`,
    "<< /Type /FontDescriptor /FontName /Any /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>",
    packed(toUnicode),
    ...pages.flatMap((text, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${first + 2 * index + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      packed(
        `BT /F1 12 Tf 20 700 Td ${text
          .split("\n")
          .map((line) => `<${hexadecimal(line)}> Tj 0 -20 Td`)
          .join(" ")} ET`,
      ),
    ]),
  ]);
}
