import { isObject } from "../../lib/json.ts";
import type { Command } from "../parse/command.ts";
import type { RowOutcome } from "./each-line.ts";
import type { CheckedRow } from "./row-input.ts";

/** Outcome of one row, with its name in the file. */
export interface NamedOutcome extends RowOutcome {
  readonly name: string;
}

/** Adds the names of rows to their outcomes. */
export async function* withRowNames(
  outcomes: AsyncIterable<RowOutcome>,
  command: Command,
  checked: readonly CheckedRow[],
): AsyncGenerator<NamedOutcome> {
  const names = rowNames(command, checked);
  for await (const { row, ...outcome } of outcomes)
    yield { name: names.get(row) || `row ${row}`, row, ...outcome };
}

/** A file by its path, anything else as entered. */
const textOf = (value: unknown): string =>
  isObject(value) && typeof value["path"] === "string" ? value["path"] : String(value ?? "");

/** Rows by number: the object that they change, or the value of the last argument in which they differ. */
function rowNames(
  { positionals, params }: Command,
  checked: readonly CheckedRow[],
): ReadonlyMap<number, string | undefined> {
  const textsOf = (name: string) => checked.map(({ input }) => textOf(input[name]));
  const differ = (texts: readonly string[]) => checked.length === 1 || new Set(texts).size > 1;
  // `rename <tag> <name>` changes the tag, but `add <kb> <name>` adds what the name says.
  const isChanged = (noun: string | undefined) => noun !== undefined && noun !== "kb";
  const objects = positionals.filter(({ name }) => isChanged(params[name]?.noun));
  const texts = [...positionals, ...objects].map(({ name }) => textsOf(name)).findLast(differ);
  return new Map(checked.map(({ row }, index) => [row.number, texts?.[index]]));
}
