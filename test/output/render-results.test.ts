import { expect, test } from "vitest";
import { list, onTerminal } from "../../src/operations/operation.ts";
import { arriving, collecting, plain, printed } from "../lib/printed.ts";
import { render } from "../../src/output/print/print.ts";

const fields = {
  form: "results",
  outcome: "action",
  name: "path",
  reason: "note",
  routine: ["create", "update"],
} as const;
const returns = onTerminal(fields, list("", "path action note id"));
const row = (action: string, path: string, note: string | null = null) => ({
  action,
  path,
  note,
  id: null,
});
const many = (count: number, action: string, note: string | null) =>
  Array.from({ length: count }, (_, index) => row(action, `it/${index + 1}.md`, note));
const shown = (rows: readonly unknown[], columns = 80, style = {}) =>
  printed(returns, rows, style, { terminal: columns });

const long = "policies/human-resources/europe/germany/parental-leave/application-form-1.md";

test.each<[string, unknown[], string]>([
  ["nothing", [], ""],
  ["routine rows", [row("create", "a.md"), row("update", "b.md")], ""],
  [
    "a routine row with a reason",
    [row("create", "a.md", "stored as b")],
    "create  a.md: stored as b\n",
  ],
  ["a deletion", [row("delete", "a.md"), row("create", "b.md")], "delete  a.md\n"],
  ["a failure", [row("failed", "a.md", "empty")], "failed  a.md: empty\n"],
  ["two of one reason", many(2, "failed", "empty"), "failed  2 × empty: it/1.md, it/2.md\n"],
  [
    "a sentence as the reason",
    many(2, "failed", "No text."),
    "failed  2 × No text: it/1.md, it/2.md\n",
  ],
  [
    "a large group",
    many(60, "failed", "empty"),
    "failed  60 × empty: it/1.md, it/2.md, it/3.md, it/4.md, it/5.md, … (all: -o tsv)\n",
  ],
  [
    "many deletions, which cannot be seen again",
    many(12, "delete", null),
    "delete  12: it/1.md, it/2.md, it/3.md, it/4.md, it/5.md, it/6.md, it/7.md,\n        it/8.md, it/9.md, it/10.md, it/11.md, it/12.md\n",
  ],
  [
    "different reasons and outcomes",
    [row("failed", "a.md", "empty"), row("delete", "b.md"), row("failed", "c.md", "broken")],
    "failed  a.md: empty\ndelete  b.md\nfailed  c.md: broken\n",
  ],
  ["controls", [row("failed", "a\u001b[2J.md", "x\ny")], "failed  a␛[2J.md: x⏎y\n"],
])("on a terminal: %s", async (_, rows, text) => expect(await shown(rows)).toBe(text));

test("names are whole at any width", async () => {
  const rows = [row("failed", long, "the file is empty"), row("delete", `${long}/会议记录.md`)];
  for (const columns of [40, 80, 120]) {
    const text = await shown(rows, columns);
    const joined = text.replaceAll(/\n {8}/g, "");
    expect(joined.replaceAll(" ", ""), text).toContain(`failed${long}:thefileisempty\n`);
    expect(joined).toContain(`delete  ${long}/会议记录.md\n`);
  }
});

test("advice stands below", async () => {
  const advised = onTerminal({ ...fields, advice: "fix" }, list("", "path action note fix"));
  const rows = many(3, "warning", "same as a.md").map((each) => ({ ...each, fix: "keep one" }));
  expect(await printed(advised, rows, {}, { terminal: 80 })).toBe(
    "warning  3 × same as a.md: it/1.md, it/2.md, it/3.md\n         → keep one\n",
  );
  expect(await printed(advised, rows, { unicode: false }, { terminal: 80 })).toBe(
    "warning  3 x same as a.md: it/1.md, it/2.md, it/3.md\n         -> keep one\n",
  );
});

test("an outcome is colored", async () => {
  expect(await shown([row("failed", "a.md")], 80, { color: true })).toBe(
    "\u001b[31mfailed\u001b[39m  a.md\n",
  );
});

test.each<[string, object, object]>([
  ["in a pipe", {}, {}],
  ["with -v", { allRows: true }, { terminal: 80 }],
  ["with -o tsv", { format: "tsv" }, { terminal: 80 }],
  ["with -o grid", { format: "grid" }, { terminal: 80 }],
  ["with --columns", { columns: ["path"] }, { terminal: 80 }],
  ["with --sort", { sort: "path" }, { terminal: 80 }],
])("all rows are printed %s", async (_, style, reader) => {
  const rows = [row("create", "a.md"), row("failed", "b.md", "empty")];
  const text = await printed(returns, rows, style, reader);
  expect(text).toContain("a.md");
  expect(text).not.toContain("b.md: empty");
});

test("rows before an error are listed", async () => {
  const { out, writes } = collecting({ terminal: 80 });
  const rows = arriving([row("failed", "a.md", "empty")], new Error("stopped"));
  await expect(render(returns, rows, plain, out)).rejects.toThrow("stopped");
  expect(writes.join("")).toBe("failed  a.md: empty\n");
});
