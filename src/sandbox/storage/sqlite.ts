import type { Database, Statement } from "node-sqlite3-wasm";
import type { Clock } from "../protocol/handler.ts";

/** The value of a column or of a `?`. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** A value that PostgreSQL cannot store, so the server fails on it (server §3). */
export class UnstorableValue extends Error {}

/** Throws UnstorableValue for text with NUL or a lone surrogate, and for integers beyond 64 bits. */
function checkValues(values: readonly SqlValue[]): SqlValue[] {
  return values.map((value) => {
    const badText = typeof value === "string" && /[\0\p{Surrogate}]/u.test(value);
    if (badText || (typeof value === "number" && Math.abs(value) >= 2 ** 63)) {
      throw new UnstorableValue(`PostgreSQL cannot store ${JSON.stringify(value).slice(0, 80)}`);
    }
    return value;
  });
}

/** An SQLite database. Outside a transaction, a write is on disk when the call returns. */
export class Store {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database) {
    this.#database = database;
  }

  all<T>(sql: string, ...values: readonly SqlValue[]): T[] {
    return this.#execute<T[]>(sql, values, "all");
  }

  get<T>(sql: string, ...values: readonly SqlValue[]): T | undefined {
    return this.#execute<T | null | undefined>(sql, values, "get") ?? undefined;
  }

  run(sql: string, ...values: readonly SqlValue[]): void {
    this.#execute(sql, values, "run");
  }

  /** Commits all of `work`, or nothing if it throws. A nested transaction joins the outer one. */
  transaction<T>(work: () => T): T {
    const database = this.#database;
    if (database.inTransaction) return work();
    database.exec("BEGIN");
    try {
      const result = work();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      if (database.inTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#database.close();
  }

  #execute<T>(sql: string, values: readonly SqlValue[], how: "all" | "get" | "run"): T {
    const checked = checkValues(values);
    try {
      return this.#prepare(sql)[how](checked) as T; // the caller knows the columns it selects
    } catch (error) {
      this.#discard(sql);
      throw error;
    }
  }

  #prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Drops a statement that failed: it would fail again. */
  #discard(sql: string): void {
    const failed = this.#statements.get(sql);
    this.#statements.delete(sql);
    try {
      failed?.finalize();
    } catch {
      // finalize() reports the failure of the statement again
    }
  }
}

/** What both sides of the sandbox need. */
export interface Basics {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  /** Makes a UUID. */
  readonly newId: () => string;
}

/** Opens a database file, or one in memory if `file` is null. */
export async function openStore(file: string | null): Promise<Store> {
  // 1.3 MB of WebAssembly, loaded only when a sandbox starts
  const { default: sqlite } = await import("node-sqlite3-wasm");
  const database = file === null ? new sqlite.Database() : new sqlite.Database(file);
  // A killed process loses nothing that was handed to the system; only a power cut might.
  database.exec("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32000;");
  return new Store(database);
}
