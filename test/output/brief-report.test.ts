import { expect, test } from "vitest";
import { report } from "../../src/operations/operation.ts";
import type { Report, Section } from "../../src/output/report-model.ts";
import { printed } from "../lib/printed.ts";

const columns = [{ label: "result" }, { label: "actual", literal: true }];
const brief = (...sections: Section[]) => {
  async function* steps() {
    yield { row: { a: 1 } };
    yield { data: { whole: true }, sections: [], brief: sections } satisfies Report;
  }
  return (format: "md" | "jsonl" | "json") => printed(report, steps(), { format });
};

test.each([
  ["a|b", "`a\\|b`"],
  ["a\\|b", "`a\\ \\|b`"],
  ["`x` ``y``", "``` `x` ``y`` ```"],
  ["<img src=x> @user #1\nhttp://x", "`<img src=x> @user #1 http://x`"],
  ["", ""],
])("a brief shows %j as code", async (text, expected) => {
  const out = await brief({ title: "T", columns, rows: [["failed", text]] })("md");
  expect(out).toBe(`### T\n\n| result | actual |\n| --- | --- |\n| failed | ${expected} |\n`);
});

test("a brief fits into a comment, counts the rows without room and closes what it folds", async () => {
  const rows = Array.from({ length: 500 }, (_, index) => [`${index}`, "|".repeat(2000)]);
  const section = { title: "T", columns, rows, notes: ["note"] };
  const out = await brief(section, { ...section, folded: true })("md");
  expect(out.length).toBeLessThan(65_536);
  expect(out).toMatch(/\nnote\n\n\d+ more rows not shown\n/);
  expect(out).toMatch(
    /<details>\n<summary>T<\/summary>\n[^]*500 more rows not shown\n\n<\/details>\n$/,
  );
});

test("JSON Lines are the results before the report, JSON is the report", async () => {
  expect(await brief()("jsonl")).toBe('{"a":1}\n');
  expect(await brief()("json")).toContain('"whole":true');
});
