/** Injects faults, signals included, into calls to the host, for commands of every kind. */
import { afterAll, expect, test } from "vitest";
import { proved } from "../lib/sampled.ts";
import { lines } from "../lib/torture-lines.ts";
import { complaints, faultsOf, undisturbed } from "../lib/torture-run.ts";
import { stage } from "../lib/torture-world.ts";

const theatre = await stage();
let tried = 0;
afterAll(() => console.info(`${tried} faults tested on ${lines.length} commands`));

test.each(lines)("$name reports its result correctly whatever fails", async (line) => {
  const normal = await undisturbed(theatre, line);
  expect(normal.ran.exit, normal.ran.err).toBe(0);
  const found: string[] = [];
  for (const fault of proved(7, faultsOf(normal.calls))) {
    found.push(...(await complaints(theatre, line, normal, fault)));
    tried += 1;
  }
  expect(found).toEqual([]);
});
