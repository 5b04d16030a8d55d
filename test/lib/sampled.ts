/** Every nth row of a table; in the long tests, which also run the files that import this, all rows. */
export const sampled = <const T>(nth: number, rows: readonly T[]): readonly T[] =>
  process.env["TEST_ROWS"] === "all" ? rows : rows.filter((_, at) => at % nth === 0);
