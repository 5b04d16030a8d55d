import { expect, test } from "vitest";
import { readFile } from "../../src/sandbox/readers/read-file.ts";
import { docx, paragraph, xlsx } from "../lib/office-files.ts";
import { pdfOf, plain } from "../lib/pdf-file.ts";
import { fileForm, openTestSandbox } from "../lib/sandbox-client.ts";

/** A page whose forms draw each other, each ten times the next: 10¹² texts. */
function endlessPdf(): Uint8Array {
  const form = (next: number, content: string) => ({
    filter: `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X ${next} 0 R >> /Font << /F 4 0 R >> >>`,
    content: Buffer.from(content),
  });
  const first = 6;
  const forms = Array.from({ length: 12 }, (_, index) =>
    form(first + index + 1, "/X Do ".repeat(10)),
  );
  return pdfOf([
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 5 0 R /Resources << /XObject << /X ${first} 0 R >> >> >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    plain("/X Do"),
    ...forms,
    form(first, "BT /F 9 Tf (x) Tj ET"),
  ]);
}

test("a PDF without end ends in error; the sandbox answers all the while", async () => {
  const { call, base, clock } = await openTestSandbox({ models: true });
  const kb = await base();
  let ended = false;
  const upload = call(
    "POST",
    `/datasets/${kb}/document/create-by-file`,
    fileForm("endless.pdf", new Uint8Array(endlessPdf())),
  ).finally(() => (ended = true));
  let answers = 0;
  while (!ended) {
    expect((await call("GET", "/datasets")).status).toBe(200);
    answers++;
  }
  expect(answers).toBeGreaterThan(100);
  expect((await upload).status).toBe(200);
  await clock.advance(1000);
  const { data } = await call("GET", `/datasets/${kb}/documents`);
  expect(data[0]?.error).toBe(
    "The pdf file cannot be read: reading it takes more than 20 seconds.",
  );
});

const repeated = (text: string, bytes: number) => text.repeat(bytes / text.length);
const MB = 2 ** 20;

/** Files within the limits of an upload that are as hard to read as can be. */
const hard: readonly (readonly [what: string, extension: string, bytes: Uint8Array])[] = [
  ["a long text", "docx", docx(repeated(paragraph("word "), 60 * MB))],
  ["empty paragraphs", "docx", docx(repeated("<w:p/>", 60 * MB))],
  ["cells of a table", "docx", docx(repeated("<w:tc><w:p/><w:t>a</w:t></w:tc>", 60 * MB))],
  ["paragraphs of a cell", "docx", docx(`<w:tc>${repeated("<w:p/>", 60 * MB)}</w:tc>`)],
  [
    "rows below a wide header",
    "xlsx",
    xlsx({
      Wide: `<row>${"<c><v>1</v></c>".repeat(16_000)}</row>${"<row><c><v>1</v></c></row>".repeat(400_000)}`,
    }),
  ],
  ["cells in cells", "xlsx", xlsx({ Deep: repeated("<c>", 15 * MB) })],
  ["cells in a row", "csv", Buffer.alloc(15 * MB, ",")],
  ["open tags", "html", Buffer.alloc(15 * MB, "<td>")],
  ["tags that close nothing", "html", Buffer.from("<b>".repeat(490) + repeated("</i>", 14 * MB))],
  ["brackets", "html", Buffer.alloc(15 * MB, "<")],
];

test.each(hard)("%s: %s", async (_what, extension, bytes) => {
  const before = process.memoryUsage().rss;
  expect(await readFile(extension, bytes)).toBeDefined();
  expect(process.memoryUsage().rss - before).toBeLessThan(1.5 * 2 ** 30);
});
