import { asciiOnly } from "../protocol/response.ts";
import type { Basics, SqlValue, Store } from "./sqlite.ts";
import { stringifyJson, parseJson } from "../../lib/json.ts";

/** A column: its SQL type, and how its values are stored. Null is stored as null. */
interface Column<T> {
  readonly sql: string;
  readonly write: (value: never) => SqlValue;
  readonly read: (stored: never) => T;
}

const plain = <T extends SqlValue>(sql: string): Column<T> => ({
  sql,
  write: (value) => value,
  read: (stored) => stored,
});

const text = "TEXT NOT NULL DEFAULT ''";

/** Stored before a byte order mark that a text begins with, which the decoder of SQLite drops from longer texts. */
const KEEPS_MARK = "\ufffe";
const integer = plain<number>("INTEGER NOT NULL DEFAULT 0");

/** The types of columns; times are ms since 1970. The defaults are for rows of versions without the column. */
export const column = {
  key: plain<string>("TEXT PRIMARY KEY NOT NULL"),
  text: {
    sql: text,
    write: (value) => (/^[\ufeff\ufffe]/.test(value) ? KEEPS_MARK + String(value) : value),
    read: (stored: string) => (stored.startsWith(KEEPS_MARK) ? stored.slice(1) : stored),
  } as Column<string>,
  /** One of some texts: `oneOf<"waiting" | "done">()`. */
  oneOf: <T extends string>() => plain<T>(text),
  integer,
  real: plain<number>("REAL NOT NULL DEFAULT 0"),
  bytes: plain<Uint8Array>("BLOB NOT NULL DEFAULT x''"),
  /** A boolean, stored as 0 or 1. */
  flag: { ...integer, write: Number, read: Boolean } as Column<boolean>,
  /** Any JSON value, stored in the server's spelling: a search in it sees escapes, too. */
  json: <T>(): Column<T> => ({
    sql: "TEXT NOT NULL DEFAULT 'null'",
    write: (value) => asciiOnly(stringifyJson(value)),
    read: (stored) => parseJson(stored) as T, // as written
  }),
  optional: <T>(of: Column<T>): Column<T | null> => ({
    ...of,
    sql: of.sql.replace(/ NOT NULL.*/, ""),
  }),
};

/** Columns of the same type: `...columnsAs(column.text, "name", "status")`. */
export const columnsAs = <T, Name extends string>(
  of: Column<T>,
  ...names: readonly Name[]
): Readonly<Record<Name, Column<T>>> =>
  Object.fromEntries(names.map((name) => [name, of])) as Record<Name, Column<T>>; // these names

type Columns = Readonly<Record<string, Column<unknown>>>;

/** A table of `openTables`: its columns in order, and what else its SQL declares. */
export interface TableDefinition<C extends Columns> {
  readonly columns: C;
  /** E.g. `PRIMARY KEY (tag_id, dataset_id)`. */
  readonly constraint?: string;
  /** The columns of each index, such as `app, created_at`. */
  readonly indexes?: readonly string[];
}

/** Declares a table; `RowOf` its type gives the type of its rows. */
export const defineTable = <const C extends Columns>(
  columns: C,
  options: Omit<TableDefinition<C>, "columns"> = {},
): TableDefinition<C> => ({ columns, ...options });

export type RecordOf<Definition> =
  Definition extends TableDefinition<infer C>
    ? { readonly [Name in keyof C]: C[Name] extends Column<infer T> ? T : never }
    : never;

/** The columns that a new row gets by itself: a UUID, and the time in ms since 1970. */
type OwnColumn = "id" | "created_at" | "updated_at";

/** A row to insert: columns that can be null are optional. */
export type NewRow<Row> = Partial<Row> & {
  readonly [
    Name in keyof Row as null extends Row[Name] ? never : Exclude<Name, OwnColumn>
  ]: Row[Name];
};

/** New values of a row; undefined leaves a value unchanged. */
export type Changes<Row> = { readonly [Name in keyof Row]?: Row[Name] | undefined };

/**
 * Opens tables by their names; creates missing ones, and missing columns of an older version:
 * `const { tags } = openTables(basics, { tags: defineTable({ id: column.key }) })`.
 */
export function openTables<T extends Readonly<Record<string, TableDefinition<Columns>>>>(
  basics: Basics,
  definitions: T,
): { readonly [Name in keyof T]: Table<RecordOf<T[Name]>> } {
  const { store } = basics;
  const known = store.all<StoredName>("SELECT name FROM sqlite_master WHERE type = 'table'");
  // In one transaction, because each one waits for the disk.
  const tables = store.transaction(() =>
    Object.entries(definitions).map(([name, definition]) => {
      const { columns, constraint, indexes = [] } = definition;
      const lines = Object.entries(columns).map(([each, { sql }]) => `${each} ${sql}`);
      const all = [...lines, ...(constraint ? [constraint] : [])].join(", ");
      store.run(`CREATE TABLE IF NOT EXISTS ${name} (${all})`);
      if (known.some((table) => table.name === name)) addMissingColumns(store, name, columns);
      for (const index of indexes) {
        const indexName = `${name}_by_${index.replace(", ", "_")}`;
        store.run(`CREATE INDEX IF NOT EXISTS ${indexName} ON ${name} (${index})`);
      }
      return [name, new Table(basics, name, columns)];
    }),
  );
  return Object.fromEntries(tables) as ReturnType<typeof openTables<T>>; // by the same names
}

interface StoredName {
  readonly name: string;
}

function addMissingColumns(store: Store, table: string, columns: Columns): void {
  const stored = store.all<StoredName>(`PRAGMA table_info(${table})`);
  for (const [name, { sql }] of Object.entries(columns)) {
    if (stored.some((known) => known.name === name)) continue;
    store.run(`ALTER TABLE ${table} ADD COLUMN ${name} ${sql}`);
  }
}

/** The rows of a table. Values that the server's database could not store throw UnstorableValue. */
export class Table<Row extends object> {
  readonly #basics: Basics;
  readonly #store: Store;
  readonly #name: string;
  readonly #columns: Columns;
  readonly #select: string;

  constructor(basics: Basics, name: string, columns: Columns) {
    this.#basics = basics;
    this.#store = basics.store;
    this.#name = name;
    this.#columns = columns;
    // A database of an older version may have more columns.
    const all = Object.keys(columns).map((column) => `${name}.${column}`);
    this.#select = `SELECT ${all.join(", ")} FROM ${name}`;
  }

  /** Returns the oldest row with these values. */
  find(match: Partial<Row>): Row | undefined {
    return this.list(match, "rowid LIMIT 1")[0];
  }

  /** Returns all rows with these values, oldest first or in the order of `ORDER BY order`. */
  list(match: Partial<Row>, order = "rowid"): Row[] {
    const [where, values] = this.#where(match);
    return this.select(`${where} ORDER BY ${order}`, ...values);
  }

  /** Returns the rows of a query; `rest` is what follows the name of the table. */
  select(rest: string, ...values: readonly SqlValue[]): Row[] {
    return this.#store
      .all<Record<string, SqlValue>>(`${this.#select} ${rest}`, ...values)
      .map((stored) => {
        const row: Record<string, unknown> = {};
        for (const [name, { read }] of Object.entries(this.#columns)) {
          const value = stored[name] ?? null;
          row[name] = value === null ? null : read(value as never); // as `write` stored it
        }
        return row as Row; // the columns of the table
      });
  }

  /** Returns one page of the rows, and the number of all rows; `where` has numbered `?1`. */
  page(
    where: string,
    order: string,
    values: readonly SqlValue[],
    { rows: limit, offset }: { readonly rows: number; readonly offset: number },
  ): { readonly rows: Row[]; readonly total: number } {
    const [first, second] = [values.length + 1, values.length + 2];
    const rest = `WHERE ${where} ORDER BY ${order} LIMIT ?${first} OFFSET ?${second}`;
    const rows = this.select(rest, ...values, limit, offset);
    return { rows, total: this.#number("count(*)", `WHERE ${where}`, values) };
  }

  count(match: Partial<Row>): number {
    return this.#number("count(*)", ...this.#where(match));
  }

  /** Maximum of a column, or 0 without rows. */
  max(name: keyof Row & string, match: Partial<Row>): number {
    return this.#number(`ifnull(max(${name}), 0)`, ...this.#where(match));
  }

  /** Stores a row, and returns it with what it got by itself. */
  insert(given: NewRow<Row>): Row {
    const { clock, newId } = this.#basics;
    const now = clock.now().getTime();
    const own: Readonly<Record<string, () => unknown>> = {
      id: newId,
      created_at: () => now,
      updated_at: () => now,
    };
    const columns = Object.keys(this.#columns);
    const values: Readonly<Record<string, unknown>> = given;
    const all = columns.map((name) => [name, values[name] ?? own[name]?.() ?? null]);
    const row = Object.fromEntries(all) as Row; // all of its columns
    const places = columns.map(() => "?").join(", ");
    const sql = `INSERT INTO ${this.#name} (${columns.join(", ")}) VALUES (${places})`;
    this.#store.run(sql, ...this.#values(row));
    return row;
  }

  /** Changes all rows that match. */
  update(match: Partial<Row>, changes: Changes<Row>): void {
    const changed = Object.entries(changes).filter(([, value]) => value !== undefined);
    if (changed.length === 0) return;
    const [where, values] = this.#where(match);
    const columns = changed.map(([name]) => `${name} = ?`).join(", ");
    const sql = `UPDATE ${this.#name} SET ${columns} ${where}`;
    this.#store.run(sql, ...this.#values(Object.fromEntries(changed)), ...values);
  }

  delete(match: Partial<Row>): void {
    const [where, values] = this.#where(match);
    this.#store.run(`DELETE FROM ${this.#name} ${where}`, ...values);
  }

  #number(expression: string, where: string, values: readonly SqlValue[]): number {
    const sql = `SELECT ${expression} AS value FROM ${this.#name} ${where}`;
    return this.#store.get<{ readonly value: number }>(sql, ...values)?.value ?? 0;
  }

  #where(match: Partial<Row>): [sql: string, values: readonly SqlValue[]] {
    const conditions = Object.keys(match).map((name) => `${name} IS ?`);
    const sql = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    return [sql, this.#values(match)];
  }

  #values(row: object): SqlValue[] {
    return Object.entries(row).map(([name, value]) => {
      const type = this.#columns[name];
      return value === null || !type ? null : type.write(value as never); // typed by Row
    });
  }
}
