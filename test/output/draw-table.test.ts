import stringWidth from "string-width";
import { expect, test } from "vitest";
import { list, record } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { drawTable } from "../../src/output/table/draw-table.ts";
import { sharedWidths } from "../../src/output/table/layout.ts";
import { collecting, plain, printed } from "../lib/printed.ts";
import { rareTest } from "../lib/sampled.ts";
import { differentWidths } from "../lib/widths.ts";
import { turns } from "../lib/turns.ts";

const documents = list("data", "name", "status", "size", "language");

const rows = [
  { name: "日本語の文書", status: "completed", size: 5, language: "Japanese" },
  { name: "한국어 문서", status: "error", size: 12_345, language: "Korean" },
  { name: "👩‍👩‍👧 family 🇯🇵 ❤️", status: "paused", size: 1, language: null },
  { name: "e\u0301le\u0300ve", status: "waiting", size: 20, language: "français" },
  { name: "ภาษาไทยที่ดี", status: "completed", size: 7, language: "ไทย" },
  { name: "שָׁלוֹם", status: "completed", size: 8, language: "עברית" },
  { name: "x\u0000x\u001b[31mx\nx", status: "completed", size: 9, language: "xxx" },
  { name: "$& $1", status: "", size: null, language: "xx" },
];

/** Rows that are followed by a pause: when they are printed, it is unknown whether more follow. */
async function* streamed(values: readonly unknown[]): AsyncGenerator<unknown> {
  yield* values;
  await turns(2);
}

/** Columns of the terminal at which the cells of a line begin, given the texts before them. */
const columnOf = (line: string, text: string) => stringWidth(line.slice(0, line.indexOf(text)));

const styles: readonly [string, Partial<Style>, number][] = [
  ["plain", {}, 80],
  ["in color", { color: true }, 80],
  ["without headers", { headers: false }, 80],
  ["for screen readers", { accessible: true }, 80],
  ["in ASCII", { unicode: false }, 80],
  ["in 60 columns", {}, 60],
  ["in 30 columns", { color: true }, 30],
  ["in 12 columns", {}, 12],
];

test.each(styles)(
  "%s, streamed and finished rows have the same cells",
  async (_, style, columns) => {
    const finished = await printed(documents, rows, style, { terminal: columns });
    const { out, writes } = collecting({ terminal: columns });
    await render(documents, streamed(rows), { ...plain, ...style }, out);
    expect(writes.join("")).toBe(finished);
    expect(finished.split("\n").length).toBeGreaterThan(rows.length);
  },
);

test("100 rows are a table, and 101 are lines with the same cells", async () => {
  const many = Array.from({ length: 101 }, (_, index) => ({ ...rows[index % 8], size: index }));
  const lines = await printed(documents, many, {}, { terminal: 70 });
  const table = await printed(documents, many.slice(0, 100), {}, { terminal: 70 });
  expect(lines.split("\n").slice(0, 102)).toEqual(table.split("\n").slice(0, 102));
});

test("cells align by the width that string-width 8 measures", async () => {
  const text = await printed(documents, rows, {}, { terminal: 80 });
  const [head = "", rule = "", ...lines] = text.split("\n");
  expect(columnOf(head, "language")).toBe(rule.lastIndexOf(" ") + 1);
  for (const [index, { status, language }] of rows.entries()) {
    const line = lines[index] ?? "";
    if (status !== "") expect(columnOf(line, status)).toBe(columnOf(head, "status"));
    if (language !== null) {
      const before = line.slice(0, line.lastIndexOf(language));
      expect(stringWidth(before)).toBe(columnOf(head, "language"));
    }
  }
});

test("values of a record start in the same column", async () => {
  const japanese = record("名前", "id", "text");
  const text = await printed(
    japanese,
    [{ 名前: "文書", id: 1, text: "a\nb" }],
    {},
    { terminal: 40 },
  );
  expect(text).toBe("名前  文書\nid    1\ntext  a\n      b\n");
});

test.each([
  ["no rows", [], ""],
  ["no rows and no headers", [], ""],
  ["an empty column without headers", [{ name: "a", size: 1 }], "a     1\n"],
])("a table with %s", async (title, values, expected) => {
  const headers = !title.includes("headers");
  expect(await printed(documents, values, { headers }, { terminal: 40 })).toBe(expected);
});

// All of them: test/long/widths.test.ts.
rareTest("widths are those of string-width 8", () => {
  expect(differentWidths(11)).toEqual([]);
});

test("half of the line is for the name before another text takes the rest", () => {
  const column = (role: "name" | "text") => ({ role, min: 10, full: 100 });
  const widths = sharedWidths([column("name"), column("text")], 82);
  // 40 of 80 for the name; of the other 30 beside the minimum, both take 15.
  expect(widths).toEqual([55, 25]);
});

test("a table wider than any terminal is drawn like others", async () => {
  const cell = (text: string) => ({ text, colored: text });
  const columns = [
    { width: 1200, align: "left" },
    { width: 3, align: "right" },
  ] as const;
  const head = [cell("name"), cell("n")];
  const lines = await drawTable(columns, [[cell("a"), cell("5")]], { head, rule: "─" });
  expect(lines).toEqual([
    `name${" ".repeat(1196)}    n`,
    `${"─".repeat(1200)}  ───`,
    `a${" ".repeat(1199)}    5`,
  ]);
});
