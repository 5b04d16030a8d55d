import type { RowResult } from "../../commands/batch/index.ts";
import type { Values } from "../../api/request.ts";
import { isObject } from "../../lib/json.ts";
import type { Command } from "../parse/command.ts";
import type { RowOutcome } from "./each-line.ts";

/** Outcome of one row, with its name in the file. */
export interface NamedOutcome extends RowOutcome {
  readonly name: string;
}

/** Names the rows of a file once it has seen all of them. */
export interface RowNames {
  see(input: Values): void;
  /** Adds the names of rows to their outcomes. */
  withNames(results: AsyncIterable<RowResult<unknown, RowOutcome>>): AsyncGenerator<NamedOutcome>;
}

/** A file by its path, anything else as entered. */
const textOf = (value: unknown): string =>
  isObject(value) && typeof value["path"] === "string" ? value["path"] : String(value ?? "");

/** Rows by the object that they change, or by the value of the last argument in which they differ. */
export function rowNames({ positionals, params }: Command): RowNames {
  // `rename <tag> <name>` changes the tag, but `add <kb> <name>` adds what the name says.
  const isChanged = (noun: string | undefined) => noun !== undefined && noun !== "kb";
  const objects = positionals.filter(({ name }) => isChanged(params[name]?.noun));
  const names = [...positionals, ...objects].map(({ name }) => name);
  const different = new Set<string>();
  let first: Values | undefined;
  let count = 0;
  return {
    see(input) {
      first ??= input;
      count++;
      for (const name of names)
        if (textOf(input[name]) !== textOf(first[name])) different.add(name);
    },
    async *withNames(results) {
      const by = names.findLast((name) => count === 1 || different.has(name));
      for await (const { sent, result } of results) {
        const { row, ...outcome } = result;
        const name = by === undefined ? "" : textOf(sent.entered?.[by]);
        yield { name: name || `row ${row}`, row, ...outcome };
      }
    },
  };
}
