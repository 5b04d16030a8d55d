import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { wireFolder } from "./paths.ts";

interface WireFixture {
  readonly operation: string;
  readonly cases: readonly {
    readonly line: readonly string[];
    readonly request: { readonly path: string };
  }[];
}

/** The commands of each operation and the requests they send, by operation. */
export const wireFixtures: ReadonlyMap<string, WireFixture> = new Map(
  readdirSync(wireFolder).map((name) => {
    const text = readFileSync(join(wireFolder, name), "utf8");
    const fixture = JSON.parse(text) as WireFixture; // written by hand
    return [fixture.operation, fixture] as const;
  }),
);
