import { describe, test } from "vitest";
import { cutAt, eventEnds, followsThrough, runs } from "../lib/following.ts";
import { seeded } from "../lib/seeded.ts";
import { endsOf, recordedRun } from "../lib/played-run.ts";

describe.each(runs)("%s", (title, flags) => {
  const run = recordedRun(title);
  const size = endsOf(run).at(-1) ?? 0;

  test("connection lost after every event", async () => {
    const random = seeded(title.length + 3);
    for (const at of eventEnds(run)) await followsThrough(run, flags, [cutAt(at, random)]);
  });

  test("connection lost at every seventh byte", async () => {
    const random = seeded(title.length);
    for (let at = 1; at < size; at += 7) await followsThrough(run, flags, [cutAt(at, random)]);
  });

  test("connection lost at every byte around an event", async () => {
    const random = seeded(title.length + 1);
    for (const end of eventEnds(run).filter((_, index) => index % 5 === 0))
      for (let at = Math.max(1, end - 4); at < end + 8; at++)
        await followsThrough(run, flags, [cutAt(at, random)]);
  });

  test("connection lost at random, up to eight times", async () => {
    const random = seeded(title.length + 7);
    for (let turn = 0; turn < 100; turn++) {
      const count = 1 + Math.floor(random() * 8);
      const places = Array.from({ length: count }, () => 1 + Math.floor(random() * (size - 1)));
      const cuts = places.sort((a, b) => a - b).map((at) => cutAt(at, random));
      await followsThrough(run, flags, cuts);
    }
  });
});
