/** What the sandbox reads in uploads: each format with its own means, and damaged files. */
import { randomBytes } from "node:crypto";
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readFile } from "../../src/sandbox/readers/read-file.ts";
import { archive, docx, paragraph, xlsx } from "../lib/office-files.ts";
import { rareTest } from "../lib/sampled.ts";
import { fileForm, openTestSandbox } from "../lib/sandbox-client.ts";
import { packed, pdf, pdfOf, plain } from "../lib/pdf-file.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

describe("the text of", () => {
  test.each<[what: string, extension: string, bytes: Uint8Array, parts: readonly string[]]>([
    [
      "CSV: rows with the header of each column",
      "csv",
      utf8('\ufeffquestion,answer\n"What, exactly?",A table.\n\nWhy?,\n"two\nlines",x,more\n'),
      [
        "question: What, exactly?;answer: A table.",
        "question: Why?",
        "question: two\nlines;answer: x;more",
      ],
    ],
    ["CSV without rows", "csv", utf8("question,answer\n"), []],
    [
      "a web page: a line for each block, no scripts",
      "html",
      utf8(
        "<!doctype html><title>Leave</title><style>p{}</style><h1>Annual&nbsp;leave</h1><p>Ask <b>your</b>\nlead.<br>Early.<script>let no = 1;</script><table><tr><td>Days<td>30</table>",
      ),
      ["Leave\nAnnual leave\nAsk your lead.\nEarly.\nDays 30"],
    ],
    [
      "XML",
      "xml",
      utf8('<?xml version="1.0"?><a x="no"><b>one</b> <c><![CDATA[two & three]]></c></a>'),
      ["one\ntwo & three"],
    ],
    [
      "a Word document: paragraphs and notes; nothing deleted or repeated",
      "docx",
      docx(
        `<w:p><w:r><w:t>Quar</w:t></w:r><w:r><w:t xml:space="preserve">terly &amp; </w:t><w:tab/><w:t>plan</w:t></w:r></w:p>
        <w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:fldChar/><w:instrText>PAGE</w:instrText></w:r></w:p>
        <w:tbl><w:tr><w:tc>${paragraph("Team")}${paragraph("of")}</w:tc><w:tc><w:p><w:pPr><w:tabs><w:tab w:pos="9"/></w:tabs></w:pPr><w:r><w:t>Days</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <w:p><w:r><w:t>before</w:t><mc:AlternateContent><mc:Choice>${paragraph("boxed")}</mc:Choice><mc:Fallback>${paragraph("boxed")}</mc:Fallback></mc:AlternateContent><w:t>after</w:t></w:r></w:p>`,
        { "word/footnotes.xml": `<w:footnotes>${paragraph("a note")}</w:footnotes>` },
      ),
      ["Quarterly & plan\nTeam\nof\nDays\nbefore\nboxed\nafter", "a note"],
    ],
    [
      "a PDF: a part for each page, in any script",
      "pdf",
      pdf(["Hello\nworld", "Grüße", "日本語の頁", "Страница", ""]),
      ["Hello\nworld", "Grüße", "日本語の頁", "Страница", ""],
    ],
    [
      "a PDF with a standard font and no compression",
      "pdf",
      pdfOf([
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        plain("BT /F1 12 Tf 20 200 Td (Stra\\337e) Tj ET"),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
      ]),
      ["Straße"],
    ],
    [
      "a spreadsheet: the rows below the header of each sheet, in the order of the sheets",
      "xlsx",
      xlsx(
        {
          // A title above the header, a row that is empty up to the last column with a name.
          Days: `<row r="1"><c r="A1" t="s"><v>0</v></c></row>
            <row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3"/><c r="C3" t="inlineStr"><is><t>v "2"</t></is></c></row>
            <row r="4"><c r="A4" t="str"><f>B4</f><v> x </v></c><c r="C4"><v>1.5</v></c><c r="D4"><v>9</v></c></row>
            <row r="5"><c r="D5"><v>9</v></c></row>
            <row><c t="b"><v>1</v></c><c><v>7</v></c></row>`,
          Notes: `<row r="1"><c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="AB2"><v>1</v></c></row>
            <row r="3"><c r="B3" t="e"><v>#N/A</v></c></row>`,
          Empty: "",
        },
        ["Report", "<r><t>n</t></r><r><t>o</t></r><rPh><t>enu</t></rPh>"],
      ),
      [`"no":"x";"v \\"2\\"":"1.5"`, `"no":"True";"v \\"2\\"":""`, `"no":"#N/A"`],
    ],
  ])("%s", async (_what, extension, bytes, parts) => {
    expect(await readFile(extension, bytes)).toEqual({ parts });
  });

  rareTest("two PDFs at once", async () => {
    const both = [pdf(["one"]), pdfOf([]), pdf(["two"])].map((bytes) => readFile("pdf", bytes));
    expect(await Promise.all(both)).toEqual([
      { parts: ["one"] },
      { problem: expect.stringMatching(/damaged/) },
      { parts: ["two"] },
    ]);
  });

  test.each(["md", "txt", "xls", "pptx", "epub", "exe", "", "constructor"])(
    "no other kind: %j",
    async (kind) => {
      expect(await readFile(kind, utf8("text"))).toBeUndefined();
    },
  );
});

/** A Word document with other bytes in the entry of its text in the directory of the ZIP. */
function patched(changes: Readonly<Record<number, number>>, body = ""): Uint8Array {
  const zip = Buffer.from(docx(body));
  const entry = zip.lastIndexOf("word/document.xml") - 46;
  for (const [place, byte] of Object.entries(changes)) zip[entry + Number(place)] = byte;
  return zip;
}

const noise = randomBytes(3000);
const bigStream = Buffer.alloc(130 * 1024 * 1024);
describe("a problem:", () => {
  test.each<[what: string, extension: string, bytes: Uint8Array, problem: RegExp]>([
    ["no ZIP", "docx", noise, /^The docx file cannot be read: it is not a complete ZIP archive\.$/],
    ["a ZIP that is cut off", "docx", docx("").subarray(0, 400), /not a complete ZIP/],
    ["an empty file", "docx", new Uint8Array(), /not a complete ZIP/],
    [
      "an encrypted Office document",
      "docx",
      Buffer.from("d0cf11e0a1b11ae1", "hex"),
      /it is encrypted, or a file of an older Office version/,
    ],
    ["an encrypted ZIP", "docx", patched({ 8: 1 }), /it is encrypted/],
    ["a wrong checksum", "docx", patched({ 16: 7 }), /the checksum of .* is wrong/],
    ["a wrong length", "docx", patched({ 24: 7 }), /it is damaged \(/],
    ["a wrong place", "docx", patched({ 45: 99 }), /it is damaged \(/],
    ["too many entries", "docx", patched({ 28: 255, 29: 255 }), /it is damaged \(/],
    ["another ZIP", "docx", archive({ "a.xml": "<a/>" }), /it has no text of its kind/],
    [
      "a ZIP bomb",
      "docx",
      docx(" ".repeat(65 * 1024 * 1024)),
      /it unpacks to more than 64 MB of text/,
    ],
    [
      "a ZIP bomb that promises little",
      "docx",
      patched({ 24: 10, 25: 0, 26: 0 }, " ".repeat(64 * 1024)),
      /it is damaged \(Cannot create a Buffer larger than 10 bytes\)/,
    ],
    ["elements in elements", "html", utf8("<b>".repeat(100_000)), /nested too deeply/],
    ["a spreadsheet without its parts", "xlsx", docx(""), /it has no text of its kind/],
    ["CSV with an open quote", "csv", utf8('a,b\n"1,2\n'), /it is damaged \(Quote Not Closed/],
    ["no PDF", "pdf", noise, /it is damaged \(Invalid PDF structure\)/],
    [
      "a PDF bomb that is packed twice",
      "pdf",
      pdfOf([packed(deflateSync(bigStream))]),
      /a part of it unpacks to more than 128 MB/,
    ],
  ])("%s", async (_what, extension, bytes, problem) => {
    expect(await readFile(extension, bytes)).toEqual({ problem: expect.stringMatching(problem) });
  });
});

/** Uploads a file to a new knowledge base, and waits until it is indexed. */
async function uploaded(name: string, bytes: Uint8Array, models = true, rules: object = {}) {
  const { call, base, clock } = await openTestSandbox({ models });
  const kb = await base();
  const form = fileForm(name, new Uint8Array(bytes));
  form.set("data", JSON.stringify({ process_rule: { mode: "automatic" }, ...rules }));
  const { status, document } = await call("POST", `/datasets/${kb}/document/create-by-file`, form);
  if (status !== 200) return { status };
  await clock.advance(1000);
  const path = `/datasets/${kb}/documents`;
  const { data: documents } = await call("GET", path);
  const { data: chunks } = await call("GET", `${path}/${document.id}/segments`);
  return { error: documents[0]?.error, chunks: chunks.map(({ content }) => content) };
}

describe("an upload", () => {
  const talk = pdf(["First page.", "Second page."]);

  test("is chunked page by page", async () => {
    expect(await uploaded("talk.PDF", talk)).toEqual({
      error: null,
      chunks: ["First page.", "Second page."],
    });
  });

  test("is one parent with all pages if the rule says so", async () => {
    const segmentation = { separator: "\n", max_tokens: 500 };
    const rules = { parent_mode: "full-doc", segmentation, subchunk_segmentation: segmentation };
    const process_rule = { mode: "hierarchical", rules: { ...rules, pre_processing_rules: [] } };
    expect(
      await uploaded("talk.pdf", talk, true, {
        process_rule,
        doc_form: "hierarchical_model",
      }),
    ).toEqual({ error: null, chunks: ["First page.\nSecond page."] });
  });

  test("that cannot be read ends in error, with the reason", async () => {
    expect(await uploaded("talk.docx", docx("").subarray(0, 300))).toEqual({
      error: "The docx file cannot be read: it is not a complete ZIP archive.",
      chunks: [],
    });
  });

  test("of another kind than text is neither read nor accepted without models", async () => {
    expect(await uploaded("talk.pptx", noise, false)).toEqual({ status: 400 });
    expect(await uploaded("minutes.pdf", pdf(["One"]), false)).toEqual({
      error: "The sandbox cannot extract text from this file type.",
      chunks: [],
    });
    expect(await uploaded("prices.csv", utf8("a, b\n1, 2\n"), false)).toEqual({
      error: null,
      chunks: ["a, b\n1, 2"],
    });
  });

  test.each<[what: string, name: string, bytes: Uint8Array, chunk: string]>([
    ["with a byte order mark, which stays", "a.txt", utf8("\ufeff# Title"), "\ufeff# Title"],
    ["with NUL, which is deleted", "a.txt", utf8("a\0b"), "ab"],
    [
      "whose line ends are not kept where nothing else splits it",
      "a.txt",
      utf8("a\r\nb\r\n"),
      "ab",
    ],
    [
      "in Latin-1, whose encoding is guessed",
      "a.txt",
      Buffer.from("naïve café", "latin1"),
      "na\ufe85ve caf\ufee0",
    ],
    [
      "in UTF-16 with a byte order mark",
      "a.txt",
      Buffer.from("\ufeffGrüße, 日本", "utf16le"),
      "Grüße, 日本",
    ],
    [
      "in UTF-16 of the other order",
      "a.md",
      Buffer.from("\ufeff# Grüße", "utf16le").swap16(),
      "Grüße",
    ],
    [
      "of a spreadsheet, whose row loses its first quote",
      "a.xlsx",
      xlsx({
        Sheet: "<row><c><v>n</v></c><c><v>v</v></c></row><row><c><v>x</v></c><c><v>1</v></c></row>",
      }),
      `n":"x";"v":"1"`,
    ],
  ])("%s", async (_what, name, bytes, chunk) => {
    expect(await uploaded(name, bytes)).toEqual({ error: null, chunks: [chunk] });
  });

  test("as the only parent cannot have NUL, and ends in error", async () => {
    const segmentation = { separator: "\n", max_tokens: 500 };
    const rules = { parent_mode: "full-doc", segmentation, subchunk_segmentation: segmentation };
    const process_rule = { mode: "hierarchical", rules: { ...rules, pre_processing_rules: [] } };
    const rule = { process_rule, doc_form: "hierarchical_model" };
    expect(await uploaded("a.txt", utf8("a\0b"), true, rule)).toEqual({
      error: "A string literal cannot contain NUL (0x00) characters.",
      chunks: [],
    });
  });

  test.each(["xls", "pptx", "epub"])("of %s ends in error", async (extension) => {
    expect(await uploaded(`prices.${extension}`, noise)).toEqual({
      error: "The sandbox cannot extract text from this file type.",
      chunks: [],
    });
  });
});
