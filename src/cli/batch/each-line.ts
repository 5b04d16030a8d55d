import type { Values } from "../../api/request.ts";
import { batch, beforeSending } from "../../commands/batch/index.ts";
import type {
  Batch,
  BatchFile,
  BatchJournal,
  BatchRow,
  RowAttempt,
  RowResult,
} from "../../commands/batch/index.ts";
import type { RowEnd } from "../../commands/task/command-spec.ts";
import { usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { requireNear } from "../../host/safe-path.ts";
import { isObject } from "../../lib/json.ts";
import type { Session } from "../execute/session.ts";
import type { Command } from "../parse/command.ts";
import { sourcesOf } from "../parse/input.ts";
import type { Sources, TypedLine } from "../parse/values.ts";
import { namesOfRows, resolveRows } from "./resolve.ts";
import { checkRows } from "./row-input.ts";

/** Outcome of one row. */
export interface RowOutcome {
  readonly row: number;
  readonly status: RowEnd;
  readonly id: string | null;
  readonly error: string | null;
}

/** Outcome of one row, with its name in the file. */
export interface NamedOutcome extends RowOutcome {
  readonly name: string;
}

/** A row that was sent, with its outcome. */
export const ended = (
  row: number,
  status: RowEnd,
  id: string | null,
  error: string | null = null,
): RowAttempt<RowOutcome> => ({ end: status, id, result: { row, status, id, error } });

/** What the rows of an operation and of a task do differently. */
export interface RowSteps<T> extends Omit<
  Batch<T, RowOutcome>,
  "file" | "errorsTo" | "stopOnError" | "unsent" | "rows"
> {
  readonly command: Command;
  /** Values of the command line, for all rows. */
  readonly typed: Readonly<Record<string, TypedLine>>;
  /** Further fields of the body of each row. */
  readonly extra?: Values | undefined;
  /** Columns that are no arguments. */
  readonly isOther?: ((column: string) => boolean) | undefined;
  /** Makes what is sent of the rows, once all are checked and their names are resolved. */
  prepare(
    resolved: () => AsyncGenerator<BatchRow<Values>>,
    earlier: BatchJournal,
  ): Promise<() => AsyncIterable<BatchRow<T>>>;
}

/**
 * Carries out a command once per row of a file and yields the outcomes. Nothing is sent before every row
 * is checked and every name is resolved. Throws usage, not-found or refused for invalid rows, and as a
 * batch does.
 */
export async function* sendRows<T>(
  { command, typed, extra, isOther, prepare, ...sender }: RowSteps<T>,
  file: BatchFile,
  session: Session,
): AsyncGenerator<NamedOutcome> {
  const { context } = session;
  const { globals } = session.options;
  const sources = rowSources(file.path, session);
  const [names, shown] = [namesOfRows(command, session), rowNames(command)];
  const seenBy = [names, shown];
  const checked = await beforeSending(() =>
    checkRows({ command, file, typed, sources, extra, isOther, seenBy, context }),
  );
  const outcomes = batch<T, RowOutcome>(
    {
      ...sender,
      file,
      errorsTo: globals.errorsTo,
      stopOnError: globals.stopOnError,
      rows: (journal) =>
        prepare(
          resolveRows({ command, file: file.name, checked, names, journal, globals }),
          journal,
        ),
      unsent: (number, status, id) => ({ row: number, status, id, error: null }),
    },
    context,
  );
  yield* shown.withNames(outcomes);
}

/** What values of the command line may read, not stdin if it has the rows, and what those of rows may. */
export function rowSources(each: string, { host, options: { globals } }: Session) {
  const line = sourcesOf(each === "-" ? withoutStdin(host) : host, globals);
  const naming = { file: each, allowed: globals.allowFiles ?? [] };
  const near =
    <T>(read: (path: string) => Promise<T>) =>
    async (path: string) => {
      if (path !== "-") await requireNear(path, naming, host);
      return read(path);
    };
  const cells: Sources = { ...line, text: near(line.text), file: near(line.file) };
  return { line, cells };
}

const withoutStdin = (host: Host): Host => ({
  ...host,
  stdin: {
    isTTY: host.stdin.isTTY,
    bytes() {
      throw usage("stdin (-) has the rows and can only be used once");
    },
  },
});

/** Names the rows of a file once it has seen all of them. */
interface RowNames {
  see(input: Values): void;
  /** Adds the names of rows to their outcomes. */
  withNames(results: AsyncIterable<RowResult<unknown, RowOutcome>>): AsyncGenerator<NamedOutcome>;
}

/** A file by its path, anything else as entered. */
const textOf = (value: unknown): string =>
  isObject(value) && typeof value["path"] === "string" ? value["path"] : String(value ?? "");

/** Rows by the object that they change, or by the value of the last argument in which they differ. */
function rowNames({ positionals, params }: Command): RowNames {
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
