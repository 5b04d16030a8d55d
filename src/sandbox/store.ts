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

  return {
    // The caller knows the columns it asks for.
    all: <T>(sql: string, ...values: readonly SqlValue[]) => statement(sql).all([...values]) as T[],
    get: <T>(sql: string, ...values: readonly SqlValue[]) =>
      (statement(sql).get([...values]) ?? undefined) as T | undefined, // as above
    run(sql, ...values) {
      statement(sql).run([...values]);
    },
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
