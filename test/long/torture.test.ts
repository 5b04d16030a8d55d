/** Every call through the host fails in every way, signals included, on command lines of every kind. */
import { afterAll, expect, test } from "vitest";
import { lines } from "../lib/torture-lines.ts";
import { complaints, faultsOf, undisturbed } from "../lib/torture-run.ts";
import { stage } from "../lib/torture-world.ts";

const theatre = await stage();
let tried = 0;
afterAll(() => console.info(`${tried} faults tried on ${lines.length} command lines`));

test.each(lines)("$name ends truly whatever fails", async (line) => {
  const normal = await undisturbed(theatre, line);
  expect(normal.ran.exit, normal.ran.err).toBe(0);
  const found: string[] = [];
  for (const fault of faultsOf(normal.calls)) {
    found.push(...(await complaints(theatre, line, normal, fault)));
    tried += 1;
  }
  expect(found).toEqual([]);
});
