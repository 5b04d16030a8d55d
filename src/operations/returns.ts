/** What a response is: its columns, its fields, and how its rows are read. */
import { readerOf, stringifyJson } from "../lib/json.ts";

/**
 * What a column contains. The name of a row is never dropped; it is the first column by default. A time
 * is in Unix seconds, or ISO 8601 in UTC without a zone. A terminal shows a count in groups of digits,
 * seconds and bytes with a unit, and the first characters of the row's own ID, which is the last column
 * everywhere; `whole-id` is an ID whose beginning no command accepts. A grid hides a sparse column if it is
 * empty.
 */
export type ColumnKind =
  | "name"
  | "time"
  | "count"
  | "seconds"
  | "bytes"
  | "id"
  | "whole-id"
  | "sparse";

/**
 * A column of a table: a path into the row (`data_source_info.size`), or a label with a path or a
 * cell, and its kind. The most important column is declared first: a narrow terminal drops the last.
 *
 * Rows declare several columns as one text: `name size=file.size:bytes created=created_at:time id:id ... error`.
 */
export type Column<T = never> =
  | PathColumn
  | readonly [label: string, cell: (row: T) => unknown, kind?: ColumnKind];

/** A column without code. */
type PathColumn = string | readonly [label: string, path: string, kind?: ColumnKind | undefined];

/** Is the response a list, so that `--limit` and `--all` apply? */
export const isList = (returns: Returns<never>): boolean =>
  returns.kind === "page" || returns.kind === "list" || returns.kind === "cursor";

/** Any JSON value as text: strings unchanged, null as "", everything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : (stringifyJson(value) ?? "");
}

/** The items of a list as one text; undefined if the value is not a list. */
export const joinTexts = (list: unknown, separator = ", "): string | undefined =>
  Array.isArray(list) ? list.map(asText).join(separator) : undefined;

/**
 * Separates columns: those after it are shown only with `-o wide`. It is ASCII: words cut from a text
 * with other characters are stored in two bytes each, and so is all JSON with such a word as a name,
 * which made `kb list -o jsonl` take 1.1 times as long.
 */
export const wideOnly = "...";

/** Columns of an object inside the row: `within("data", "id ... error")`. */
export const within = (field: string, ...texts: string[]): PathColumn[] =>
  texts
    .join(" ")
    .split(" ")
    .map((text) => {
      const column = columnOf(text);
      if (typeof column !== "string") return [column[0], `${field}.${column[1]}`, column[2]];
      return column === wideOnly ? column : [column, `${field}.${column}`];
    });

/** One entry for each column: `id size=file.size` → `"id", ["size", "file.size"]`. */
const splitColumns = <T>(columns: readonly Column<T>[]): Column<T>[] =>
  columns.flatMap((column): readonly Column<T>[] =>
    typeof column === "string" ? column.split(" ").map(columnOf) : [column],
  );

function columnOf(text: string): PathColumn {
  const [source = "", kind] = text.split(":");
  const [label = "", path = label] = source.split("=");
  return path === label && kind === undefined
    ? label
    : [label, path, kind as ColumnKind | undefined]; // written in the table
}

/** A column: its label, its kind, the path of what it shows if it is one, and its value in a row. */
export interface ReadColumn {
  readonly label: string;
  readonly path?: string;
  readonly kind?: ColumnKind | undefined;
  value(row: unknown): unknown;
}

/** Columns in the order of display, the row's own ID last; those after `wideOnly` only with `all`. */
export function readColumns(columns: readonly Column[], all = true): ReadColumn[] {
  const end = columns.indexOf(wideOnly);
  const read = columns
    .filter((column, index) => column !== wideOnly && (all || end === -1 || index < end))
    .map(readColumn);
  const isId = ({ kind }: ReadColumn) => kind === "id" || kind === "whole-id";
  return [...read.filter((column) => !isId(column)), ...read.filter(isId)];
}

function readColumn(column: Column): ReadColumn {
  if (typeof column === "string") return { label: column, path: column, value: readerOf(column) };
  const [label, cell, kind] = column;
  if (typeof cell === "string") {
    const at = readerOf(cell);
    return { label, kind, path: cell, value: kind === "time" ? (row) => timeOf(at(row)) : at };
  }
  const read = cell as (row: unknown) => unknown; // the rows of the operation that declares it
  const value = (row: unknown) => {
    try {
      return read(row);
    } catch (error) {
      // A server may omit an object that the cell reads from; anything else is a bug.
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  };
  return { label, kind, value };
}

function timeOf(value: unknown): Date | undefined {
  if (typeof value === "number") return new Date(value * 1000);
  return typeof value === "string" ? new Date(`${value}Z`) : undefined;
}

/**
 * The fields of a response that callers rely on, with their types; further fields are allowed. A
 * name with `?` can be null or missing, `*` stands for every name, `=` precedes the allowed texts
 * (`=a|b`), and a list has one entry for all items. Numbers are finite, times displayable, IDs and names
 * not empty; a scalar is a text, a number or a boolean.
 */
export type RequiredFields =
  | "text"
  | "id"
  | "name"
  | "number"
  | "time"
  | "flag"
  | "scalar"
  | `=${string}`
  | readonly [RequiredFields]
  | { readonly [field: string]: RequiredFields };

interface FieldTypes {
  readonly text: string;
  readonly id: string;
  readonly number: number;
  readonly time: number;
  readonly flag: boolean;
  readonly scalar: string | number | boolean;
}

/** The type of a value with these fields. */
export type Checked<F> = F extends keyof FieldTypes
  ? FieldTypes[F]
  : F extends `=${infer Text}`
    ? Text
    : F extends readonly [infer Each]
      ? readonly Checked<Each>[]
      : {
          readonly [K in keyof F as K extends `${string}?` ? never : K]: Checked<F[K]>;
        } & {
          readonly [K in keyof F as K extends `${infer Name}?` ? Name : never]?:
            | Checked<F[K]>
            | null
            | undefined;
        };

/** How a response is displayed, and where its ID is. */
interface Layout<T> {
  readonly columns: readonly Column<T>[];
  /** Path of the value that `-o name` prints (default: that of the column with the row's own ID, or `id`). */
  readonly namePath?: string;
  /**
   * Path of a list of named values, which are columns, too: `{name, type, value}`. One named like another
   * column has the path before its name: `doc_metadata.status`.
   */
  readonly values?: string;
  /** Fields that each row, or the record, must have for tasks and after a write. */
  readonly fields?: RequiredFields;
  /** What a terminal shows instead of a table. */
  readonly terminalForm?: TerminalForm;
  /** Formats of other programs in which it can be printed, too. */
  readonly texts?: readonly TextFormat[];
}

/** A form of rows on a terminal other than a table, which `-o grid` prints. */
export type TerminalForm =
  /** Checks, by the labels of their columns: `✓ name: text`, and below them what to do next. */
  | {
      readonly form: "checks";
      readonly result: string;
      readonly name: string;
      readonly text: string;
      readonly next?: string;
    }
  /**
   * Results of a bulk command, by the labels of their columns: those that need attention, grouped by
   * outcome and reason. Routine outcomes without a reason are only counted.
   */
  | {
      readonly form: "results";
      readonly outcome: string;
      readonly name: string;
      readonly reason?: string;
      /** Where more than ten results of one kind have different reasons, they are one group. */
      readonly kind?: string;
      readonly advice?: string;
      readonly routine: readonly string[];
      /** Is each result printed when it arrives, without groups? */
      readonly live?: boolean;
    }
  /** Search results with the words of the query in bold. */
  | { readonly form: "hits"; readonly query: string }
  /** Chunks of texts, with what they repeat marked. */
  | { readonly form: "chunks" };

/** Formats of other programs: a run of a retrieval evaluation, metrics, traces. */
export const textFormats = ["trec", "openmetrics", "otlp"] as const;

export type TextFormat = (typeof textFormats)[number];

/**
 * The response of an operation. `rows` is the path of the rows in the response, "" for the response
 * itself. Pages are requested by `page` and `limit`, cursors by the ID of the last row; the engine
 * adds these parameters.
 */
export type Returns<T = unknown> =
  | ({ readonly kind: "record" } & Layout<T>)
  /** With `html`, the rows can be printed as a page, whose title that is: `Files of {directory}`. */
  | ({ readonly kind: "list"; readonly rows: string; readonly html?: string } & Layout<T>)
  | ({
      readonly kind: "page";
      readonly rows: string;
      /** Maximum page size of the server. */
      readonly cap: number;
    } & Layout<T>)
  | ({
      readonly kind: "cursor";
      readonly rows: string;
      /** Query parameter for the ID of the last row. */
      readonly after: string;
      readonly cap: number;
    } & Layout<T>)
  /**
   * Batches of events. `some`: not all events of a run; `past`: a recording, replayed at its original
   * speed; `orResponse`: the server may send one JSON object instead, which becomes the only event.
   */
  | {
      readonly kind: "events";
      readonly some?: true;
      readonly past?: true;
      readonly orResponse?: true;
    }
  /**
   * Bytes, with `media` only of media types with this prefix. `text`: they may be text, which a terminal
   * shows; the value is how to get the text of those that are none.
   */
  | { readonly kind: "file"; readonly media?: string; readonly text?: string }
  /** Any JSON values or texts, printed unchanged. */
  | { readonly kind: "json" }
  /** Chunks of one text, printed as they arrive. */
  | { readonly kind: "text"; readonly texts?: readonly TextFormat[] }
  /**
   * One `Report` (src/output/report-model.ts). `repeats`: one after the other until the command is stopped;
   * `texts`: formats of other programs in which it can be printed, too.
   */
  | { readonly kind: "report"; readonly repeats?: true; readonly texts?: readonly TextFormat[] }
  | { readonly kind: "nothing" };

declare const answer: unique symbol;
/** `Returns` with the type of its row; the field exists only for the compiler. */
export type Typed<R extends Returns<never>, T> = R & { readonly [answer]?: T };

type Kind<K extends Returns["kind"]> = Extract<Returns<never>, { kind: K }>;

/** A response with columns; the type of its row exists only for the compiler. */
const withColumns = <R extends Kind<"record" | "list" | "page" | "cursor">, T>(
  returns: Omit<R, "columns">,
  columns: readonly Column<T>[],
) => {
  const split = splitColumns(columns);
  const id = split.find((column) => typeof column !== "string" && column[2] === "id")?.[1];
  const named = typeof id === "string" && id !== "id" && { namePath: id };
  return { ...returns, columns: split, ...named } as unknown as Typed<R, T>;
};

/** One object; `columns` are the lines of its sheet. */
export const record = <T>(...columns: Column<T>[]) =>
  withColumns<Kind<"record">, T>({ kind: "record" }, columns);

/** A whole list in one response; `rows` is the path of the array, "" for the response itself. */
export const list = <T>(rows: string, ...columns: Column<T>[]) =>
  withColumns<Kind<"list">, T>({ kind: "list", rows }, columns);

/** A list in numbered pages of at most 100 rows under `data`. */
export const page = <T>(...columns: Column<T>[]) =>
  withColumns<Kind<"page">, T>({ kind: "page", rows: "data", cap: 100 }, columns);

/** A list that continues after the ID of the last row, sent as the parameter `after`. */
export const cursor = <T>(after: string, ...columns: Column<T>[]) =>
  withColumns<Kind<"cursor">, T>({ kind: "cursor", rows: "data", cap: 100, after }, columns);

/** The same response with another path for `-o name`. */
export const withNamePath = <R>(path: string, returns: R): R => ({ ...returns, namePath: path });

/** The same rows with a list of named values that can be columns. */
export const withValues = <R>(path: string, returns: R): R => ({ ...returns, values: path });

/** The same rows, which can also be printed as a page with this title: `-o html`. */
export const asPage = <R extends Kind<"list">>(html: string, returns: R): R => ({
  ...returns,
  html,
});

/** The same rows with a form of their own on a terminal. */
export const onTerminal = <R>(terminalForm: TerminalForm, returns: R): R => ({
  ...returns,
  terminalForm,
});

/** The same response with the fields that callers rely on, which are part of its type. */
export const withFields = <const F extends RequiredFields, R extends Returns<never>>(
  fields: F,
  returns: R,
): R & { readonly [answer]?: Checked<F> } =>
  ({ ...returns, fields }) as R & { readonly [answer]?: Checked<F> };

/** The response of a write without a result. */
export const success: Typed<Kind<"record">, { readonly result: "success" }> = {
  ...record<{ readonly result: "success" }>("result"),
  fields: { result: "=success" },
};

export const events = { kind: "events" } as const;
export const eventsOrResponse = { kind: "events", orResponse: true } as const;
export const someEvents = { kind: "events", some: true } as const;
export const pastEvents = { kind: "events", past: true } as const;
export const fileContent = { kind: "file" } as const;
export const fileOrText = { kind: "file", text: "add --chunks to print the text" } as const;
export const audioFile = { kind: "file", media: "audio/" } as const;
export const textChunks = { kind: "text" } as const;
/** The text of another program, which the command itself makes. */
export const textIn = (format: TextFormat) => ({ kind: "text", texts: [format] }) as const;
export const report = { kind: "report" } as const;
export const repeatedReport = { kind: "report", repeats: true } as const;
export const noContent = { kind: "nothing" } as const;

/** Type of one row of a list, or of the whole record. */
export type RowOf<R> = R extends { readonly [answer]?: infer T } ? T : unknown;
