import { expect, test } from "vitest";
import { renderPage, twoColumns, wrapCommand, wrapWords } from "../../src/cli/help/layout.ts";

test.each([
  ["one two three", 8, ["one two", "three"]],
  ["one\ntwo", 80, ["one two"]],
  ["exactly 9", 9, ["exactly 9"]],
  ["a-very-long-word b", 5, ["a-very-long-word", "b"]],
  ["/datasets/{id}/documents", 16, ["/datasets/{id}/", "documents"]],
  ["", 10, []],
])("wrapWords: %j at %d", (text, width, lines) => {
  expect(wrapWords(text, width)).toEqual(lines);
});

test("twoColumns: the text is wrapped below itself", () => {
  expect(twoColumns([["-n, --dry-run", "Print the request without sending it"]], 34)).toEqual([
    "-n, --dry-run  Print the request",
    "               without sending it",
  ]);
});

test("twoColumns: a long term has its text on the next line and does not widen the others", () => {
  expect(
    twoColumns(
      [
        ["--all", "Read all pages"],
        ["--embedding-model-provider <text>", "Its provider"],
      ],
      80,
    ),
  ).toEqual(["--all  Read all pages", "--embedding-model-provider <text>", "       Its provider"]);
});

test.each([
  ["kb list", 80, ["kb list"]],
  ["kb doc add HB a.md --text 'x y'", 24, ["kb doc add HB a.md \\", "    --text 'x y'"]],
  [`kb tag create "a b" c`, 16, ["kb tag create \\", `    "a b" c`]],
])("wrapCommand: %j at %d", (line, width, lines) => {
  expect(wrapCommand(line, width)).toEqual(lines);
});

test("a page: paragraphs, titled blocks, no empty ones", () => {
  expect(
    renderPage(
      ["Summary", { title: "Empty", rows: [] }, "", { title: "Flags", rows: [["-a", "All"]] }],
      80,
    ),
  ).toBe("Summary\n\nFlags:\n  -a  All\n");
});
