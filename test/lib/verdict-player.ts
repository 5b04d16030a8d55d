/** A process of `npm run prove -- verdicts`: it plays the cells that it is sent. */
import { difference, nameOf, playedCell } from "./verdict-rates.ts";
import type { Cell } from "./verdict-rates.ts";

interface Job {
  readonly cell: Cell;
  readonly number: number;
  readonly n: number;
}

process.on("message", ({ cell, number, n }: Job) => {
  const found = playedCell(cell, number, n);
  process.send?.({ name: nameOf(cell), number, cell, found, ...difference(cell, found) });
});
