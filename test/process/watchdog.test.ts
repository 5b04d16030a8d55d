import { expect, test } from "vitest";
import { seeded } from "../lib/seeded.ts";
import { sampled } from "../lib/sampled.ts";
import { lines } from "../lib/torture-lines.ts";
import { stage } from "../lib/torture-world.ts";
import { deaf } from "../lib/watchdog.ts";
import type { Watch } from "../lib/watchdog.ts";

// All commands end on signals and --timeout, whatever their output; all command lines in test/long.

const scene = await stage();
const random = seeded(1);
const asking = lines.filter(({ name }) => /^(kb (list|show|sync|export)|wf (show|run))/.test(name));

const waits: readonly (readonly [string, Omit<Watch, "held">])[] = [
  ["a terminal whose size was never set", { columns: 0, by: "SIGINT" }],
  ["a terminal whose size was never set", { columns: 0, by: "--timeout" }],
  ["a terminal of one column", { columns: 1, by: "SIGTERM" }],
  ["a pipe", { columns: undefined, by: "SIGINT" }],
];

test.each(sampled(5, waits))(
  "on %s a line that waits ends when it is told to: %j",
  async (_, watch) => {
    const line = asking[Math.floor(random() * asking.length)];
    expect(line && (await deaf(scene, line, { ...watch, held: 0 }))).toEqual([]);
  },
);

test("--timeout ends a command that waits for input", async () => {
  const line = lines.find(({ name }) => name.endsWith("--text-file -"));
  const watch = { columns: 80, held: 0, by: "--timeout" } as const;
  expect(line && (await deaf(scene, line, watch))).toEqual([]);
});
