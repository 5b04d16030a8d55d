import { counted } from "../../../lib/text.ts";
import { openWordDiff } from "../../../lib/word-diff.ts";
import { asText } from "../../../operations/operation.ts";
import { left, literal, noTable } from "../../../output/report-model.ts";
import type { Report, Section } from "../../../output/report-model.ts";

/** Differences of chunks that stay, whatever is imported. */
export const notImportable = "not importable";

/** One difference; null if a side lacks the value. */
export interface KbDifference {
  readonly what:
    | "setting"
    | "tag"
    | "field"
    | "document"
    | "content"
    | "metadata"
    | "status"
    | "chunk"
    | typeof notImportable;
  readonly name: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** Texts that a page shows word by word; all further ones are in its table. */
const MAX_COMPARED = 200;

/** The page of a comparison: a table of the differences, and below it the texts, with the words that differ. */
export function newDifferencePage(sides: { readonly a: string; readonly b: string }) {
  const rows: (KbDifference & { readonly note: string })[] = [];
  const compared: Section[] = [];
  return {
    async add(row: KbDifference & { readonly note: string }): Promise<void> {
      rows.push(row);
      const { name, a, b } = row;
      if (row.what !== "chunk" || compared.length >= MAX_COMPARED) return;
      const parts = (await openWordDiff())(textOf(a), textOf(b));
      compared.push({ ...noTable, title: name, comparison: { titles: [sides.a, sides.b], parts } });
    },
    report(): Report {
      const table: Section = {
        title: counted(rows.length, "difference"),
        columns: [left("what"), left("name"), literal(sides.a), literal(sides.b)],
        rows: rows.map(({ what, name, a, b }) => [what, name, textOf(a), textOf(b)]),
      };
      const tone = rows.length === 0 ? "good" : "bad";
      return {
        title: `Comparison of ${sides.a} and ${sides.b}`,
        data: rows,
        sections: [table],
        page: () => ({
          facts: { a: sides.a, b: sides.b },
          tiles: [{ label: "differences", value: String(rows.length), tone }],
          sections: [table, ...compared],
        }),
      };
    },
  };
}

/** A value as text; a list of child chunks, one per line. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(asText).join("\n") : asText(value ?? "");
