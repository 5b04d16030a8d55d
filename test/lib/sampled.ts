import { test } from "vitest";

const isWhole = process.env["TEST_ROWS"] === "all";

/** Every nth row of a table; in the long tests, which also run the files that import this, all rows. */
export const sampled = <const T>(nth: number, rows: readonly T[]): readonly T[] =>
  isWhole ? rows : everyNth(nth, rows);

/** A test of a rare or large scene, which takes long: only the long tests, which also run its file, have it. */
export function rareTest(name: string, run: () => Promise<void> | void): void {
  if (isWhole) test(name, run);
}

/** Is everything tested, by `npm run prove`? */
export const isProof = process.env["PROVE"] === "all";

/** Every nth row of a table of the long tests; with `npm run prove`, all rows. */
export const proved = <const T>(nth: number, rows: readonly T[]): readonly T[] =>
  isProof ? rows : everyNth(nth, rows);

const everyNth = <T>(nth: number, rows: readonly T[]) => rows.filter((_, at) => at % nth === 0);
