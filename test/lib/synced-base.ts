import { join } from "node:path";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { contentsOf } from "./directory.ts";
import type { TestSandbox } from "./sandbox.ts";

/** An empty knowledge base, and the path of a directory for it. */
interface SyncedBase {
  readonly kb: string;
  readonly name: string;
  readonly dir: string;
}

/** Returns what makes another knowledge base for each test, and ends the faults of the one before. */
export function syncedBases(server: TestSandbox, home: string): () => Promise<SyncedBase> {
  let number = 0;
  return async () => {
    server.sandbox.setFaults([]);
    const name = `Base ${++number}`;
    const flags = ["--indexing-technique", "economy", "-o", "name"];
    const made = await server.done(["kb", "create", name, ...flags], { folder: home });
    return { kb: made.out.trim(), name, dir: join(home, `dir ${number}`) };
  };
}

/** The texts of the documents by their names. */
export const textsOf = async (server: TestSandbox, kb: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    [...(await contentsOf(server.sandbox.origin, kb))].map(([name, { text }]) => [name, text]),
  );

/** Replaces the faults of a sandbox. */
export const setFaults = ({ sandbox }: TestSandbox, lines: readonly string[]): void =>
  sandbox.setFaults(lines.map(parseFault));
