/** What the gate of `wf test run --baseline` promises, by the program, with many seeds, nights and kills. */
import { expect, test } from "vitest";
import { gateRates } from "../lib/gate-apps.ts";
import { gateSession } from "../lib/gate-session.ts";
import { killer, nth } from "../lib/killed-at.ts";
import { seeded } from "../lib/seeded.ts";
import { cli } from "../lib/support.ts";

const times = Array.from({ length: 20 }, (_, index) => index + 1);

test("one of ten tests that breaks is red, and nothing changed is green, twenty times each", async () => {
  const session = await gateSession({ good: gateRates(10), bad: gateRates(10, { t4: 0 }) });
  await session.judged("good", ["--save", "before.json"]);
  const exits: number[][] = [];
  for (const _ of times)
    exits.push([
      (await session.judged("good", ["--baseline", "before.json"])).exit,
      (await session.judged("bad", ["--baseline", "before.json"])).exit,
    ]);
  expect(exits).toEqual(times.map(() => [0, 14]));
  await session.stop();
});

/** Sixty tests, of which five pass nine times in ten. */
const mixed = (rate: number, broken: Readonly<Record<string, number>> = {}) =>
  gateRates(60, {
    ...Object.fromEntries(["t1", "t2", "t3", "t4", "t5"].map((name) => [name, rate])),
    ...broken,
  });

test.each([
  { what: "a dead test", now: mixed(0.9, { t30: 0 }), more: ["--history", "history"] },
  { what: "five tests from 90 to 30 %", now: mixed(0.3), more: ["--repeat", "5"] },
])("$what: red on eight nights in a row", async ({ now, more }) => {
  const session = await gateSession({ before: mixed(0.9), now }, { seed: 7 });
  const line = ["--concurrency", "8", ...more];
  if (more.includes("history"))
    for (let night = 0; night < 6; night++) await session.judged("before", line);
  await session.judged("before", [...line, "--save", "before.json"]);
  const exits: number[] = [];
  for (let night = 0; night < 8; night++)
    exits.push((await session.judged("now", [...line, "--baseline", "before.json"])).exit);
  expect(exits).toEqual(exits.map(() => 14));
  await session.stop();
});

test("a cache that draws once a run raises no alarm where nothing has changed", async () => {
  const rates = Object.fromEntries(
    Object.keys(gateRates(20)).map((name, index) => [name, index < 6 ? 1 : 0.9]),
  );
  const exits: number[] = [];
  for (const seed of times) {
    const session = await gateSession({ app: rates }, { seed, cache: true, answers: 50 });
    const line = ["--repeat", "2", "--concurrency", "4"];
    await session.judged("app", [...line, "--save", "before.json"]);
    await session.control("DELETE /cache");
    exits.push((await session.judged("app", [...line, "--baseline", "before.json"])).exit);
    await session.stop();
  }
  expect(exits.filter((exit) => exit !== 0).length).toBeLessThanOrEqual(1);
});

/** Each kill ends a run at a random step outside, a request or a file, and the same command continues. */
const kills = Number(process.env["GATE_KILLS"] ?? 40);

test(`${kills} judged runs that are killed keep what was asked, and end with the same verdict`, async () => {
  const session = await gateSession({ good: gateRates(6), bad: gateRates(6, { t2: 0, t5: 0 }) });
  const line = ["--repeat", "3", "--baseline", "before.json"];
  await session.judged("good", ["--repeat", "3", "--save", "before.json"]);
  const whole = await session.judged("bad", line);
  expect(whole.exit).toBe(14);
  const verdicts = ({ tests, comparison }: typeof whole) => [
    tests.map(({ test: name, verdict, fresh }) => [name, verdict, fresh]),
    comparison.verdict,
    comparison.again,
  ];
  const killed = killer({ cli: (argv, world) => cli(argv, { env: session.env, ...world }) });
  const steps = { count: 0 };
  await killed(() => ++steps.count < 0, session.line("bad", line), session.folder);
  expect(steps.count).toBeGreaterThan(50);
  const random = seeded(4);
  const resumed = { count: 0 };
  for (let kill = 0; kill < kills; kill++) {
    const given = [...line, "--concurrency", String(1 + (kill % 3))];
    const last = nth(1 + Math.floor(random() * steps.count), /^/);
    await killed(last, session.line("bad", given), session.folder);
    const next = await session.judged("bad", given);
    if (next.err.includes("resuming: ")) resumed.count++;
    expect(next.exit, next.err).toBe(14);
    expect(verdicts(next)).toEqual(verdicts(whole));
  }
  expect(resumed.count).toBeGreaterThan(kills / 3);
  await session.stop();
});
