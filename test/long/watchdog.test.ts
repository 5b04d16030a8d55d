import { expect, test } from "vitest";
import { seeded } from "../following.ts";
import { lines } from "../torture-lines.ts";
import { stage } from "../torture-world.ts";
import { deaf, places } from "../watchdog.ts";

const scene = await stage();
const random = seeded(1);

test.each(lines.map((line) => [line.name, line] as const))(
  "%s ends when it is told to, on a terminal of 0, 1 and 80 columns and in a pipe",
  async (_, line) => {
    const found: string[] = [];
    for (const columns of places)
      for (const by of ["SIGINT", "--timeout"] as const)
        found.push(...(await deaf(scene, line, { columns, held: Math.floor(random() * 4), by })));
    expect(found).toEqual([]);
  },
);
