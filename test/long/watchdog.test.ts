import { expect, test } from "vitest";
import { seeded } from "../lib/seeded.ts";
import { proved } from "../lib/sampled.ts";
import { lines } from "../lib/torture-lines.ts";
import { stage } from "../lib/torture-world.ts";
import { deaf, places } from "../lib/watchdog.ts";

const scene = await stage();
const random = seeded(1);

test.each(lines.map((line) => [line.name, line] as const))(
  "%s ends on SIGINT and --timeout, on a terminal of 0, 1 and 80 columns and in a pipe",
  async (_, line) => {
    const found: string[] = [];
    const ends = places.flatMap((columns) =>
      (["SIGINT", "--timeout"] as const).map((by) => ({ columns, by })),
    );
    for (const end of proved(3, ends))
      found.push(...(await deaf(scene, line, { ...end, held: Math.floor(random() * 4) })));
    expect(found).toEqual([]);
  },
);
