/** How often the gate is red in synthetic applications: a sample; whole with `npm run prove -- verdicts`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { cellsIn, difference, nameOf, playedCell } from "../lib/verdict-rates.ts";

const fixture = join(root, "test/fixtures/verdicts/shares.jsonl");
const cells = cellsIn(readFileSync(fixture, "utf8")).map((cell, number) => ({
  name: nameOf(cell),
  cell,
  number,
}));
const quick = cells.filter(
  ({ cell: { tests, repeat, nights } }) => tests <= 60 && repeat <= 5 && nights === undefined,
);

/** Applications of each cell. */
const COUNT = 100;

test("each cell has a name of its own", () => {
  expect(new Set(cells.map(({ name }) => name)).size).toBe(cells.length);
});

// The seeds are fixed.
test.each(quick.filter((_, index) => index % 6 === 0))("$name", ({ cell, number }) => {
  const { share, low, high } = difference(cell, playedCell(cell, number, COUNT));
  console.log(`${share * 100} %, ${cell.share} % in the fixture`);
  expect(low).toBeLessThanOrEqual(0);
  expect(high).toBeGreaterThanOrEqual(0);
});
