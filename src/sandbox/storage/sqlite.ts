import type { Statement } from "node-sqlite3-wasm";

/** What a column holds and a `?` takes. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** An SQLite database. Outside a transaction every write is on disk when the call returns. */
export interface Store {
  all<T>(sql: string, ...values: readonly SqlValue[]): T[];
  get<T>(sql: string, ...values: readonly SqlValue[]): T | undefined;
  run(sql: string, ...values: readonly SqlValue[]): void;
  /** All of `work` or, when it throws, nothing of it. A transaction inside one is part of it. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** A value that PostgreSQL cannot hold, so that the server fails where it meets it (server §3). */
export class UnstorableValue extends Error {}

/** Throws Unstorable for NUL and half a surrogate pair in a text, and for integers beyond 64 bits. */
function checked(values: readonly SqlValue[]): SqlValue[] {
  return values.map((value) => {
    const text = typeof value === "string" && /[\0\p{Surrogate}]/u.test(value);
    if (text || (typeof value === "number" && Math.abs(value) >= 2 ** 63)) {
      throw new UnstorableValue(`PostgreSQL cannot hold ${JSON.stringify(value).slice(0, 80)}`);
    }
    return value;
  });
}

/** file null = in memory. `schemas` are CREATE TABLE IF NOT EXISTS … scripts of the rooms. */
export async function openStore(file: string | null, schemas: readonly string[]): Promise<Store> {
  // 1.3 MB of WebAssembly: only who starts a sandbox pays for it.
  const { default: sqlite } = await import("node-sqlite3-wasm");
  const database = file === null ? new sqlite.Database() : new sqlite.Database(file);
  // A killed process loses nothing that the system was given; only a power cut might.
  database.exec("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32000;");
  for (const schema of schemas) database.exec(schema);

  const prepared = new Map<string, Statement>();
  function statement(sql: string): Statement {
    const known = prepared.get(sql);
    if (known) return known;
    const made = database.prepare(sql);
    prepared.set(sql, made);
    return made;
  }

  /** Runs a prepared statement; one that failed is not used again, as it would fail once more. */
  function using<T>(sql: string, values: readonly SqlValue[], how: "all" | "get" | "run"): T {
    const bound = checked(values);
    try {
      return statement(sql)[how](bound) as T; // the caller knows the columns it asks for
    } catch (error) {
      forget(sql);
      throw error;
    }
  }

  function forget(sql: string): void {
    const failed = prepared.get(sql);
    prepared.delete(sql);
    try {
      failed?.finalize();
    } catch {
      // it tells its failure a second time
    }
  }

  return {
    all: <T>(sql: string, ...values: readonly SqlValue[]) => using<T[]>(sql, values, "all"),
    get: <T>(sql: string, ...values: readonly SqlValue[]) =>
      using<T | null | undefined>(sql, values, "get") ?? undefined,
    run: (sql, ...values) => void using(sql, values, "run"),
    transaction(work) {
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
    },
    close() {
      for (const each of prepared.values()) each.finalize();
      database.close();
    },
  };
}
