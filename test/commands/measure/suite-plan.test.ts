/** What `wf test plan` says of suites whose chances are known. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { rareTest } from "../../lib/sampled.ts";
import { cli, temporaryDirectory, type World } from "../../lib/support.ts";

const folder = await temporaryDirectory();
const names = ["a", "b"];
const suite = (more: object = {}) =>
  JSON.stringify({
    name: "S",
    tests: names.map((name) => ({ name, query: name, expect: ['text is "x"'], ...more })),
  });
const saved = (
  passes: Readonly<Record<string, readonly boolean[]>>,
  more: (name: string) => object = () => ({}),
) =>
  JSON.stringify({
    wf_test: 1,
    tests: Object.entries(passes).map(([name, runs]) => ({
      name: `S: ${name}`,
      path: "suite.yaml",
      test: name,
      results: runs.map((passed) => ({
        status: passed ? "passed" : "failed",
        checks: [],
        ...more(name),
      })),
    })),
  });
const five = [true, true, true, true, true];
await write(folder, {
  "suite.yaml": suite(),
  "skipped.yaml": suite({ skip: true }),
  "quarantined.yaml": suite({ quarantine: "2099-12-31" }),
  "one-quarantined.yaml": JSON.stringify({
    name: "S",
    tests: names.map((name, index) => ({
      name,
      query: name,
      quarantine: index === 0 ? "2099-12-31" : "2020-01-01",
    })),
  }),
  "sure.json": saved({ a: five, b: five }),
  "never.json": saved({ a: [false], b: [false] }),
  "repeated.yaml": suite({ repeat: 3 }),
  "only.yaml": JSON.stringify({
    name: "S",
    tests: names.map((name, index) => ({ name, query: name, only: index === 0 })),
  }),
  // They met the expectations of then.
  "edited.json": saved({ a: five, b: five }, (name) => ({
    content: "other",
    turns: [{ query: name, inputs: {}, answer: "y", end: { status: "succeeded" } }],
  })),
});

/** With a clock that stands still, unless the world has another. */
const plan = (words: string, world: World = {}) =>
  cli(["wf", "test", "plan", ...words.split(" ").map(pathOf), "-o", "json"], {
    elapsed: () => 0,
    ...world,
  });
const pathOf = (word: string) => (/\.(ya?ml|json)$/.test(word) ? join(folder, word) : word);

interface Planned {
  readonly tests: number;
  readonly draws: number;
  readonly history: number;
  readonly repeats: readonly {
    readonly repeat: number;
    readonly runs: number;
    readonly chances: Readonly<Record<string, { rate: number; low: number; high: number }>>;
  }[];
  readonly needed?: Readonly<Record<string, number | null>>;
}
async function planned(words: string, world?: World): Promise<Planned> {
  const { exit, out, err } = await plan(words, world);
  expect(exit, err).toBe(0);
  return JSON.parse(out) as Planned;
}

test("tests that always pass: a dead one is found always, and no alarm is false", async () => {
  const { tests, draws, repeats } = await planned("suite.yaml --rate 1 --repeat 1");
  expect({ tests, draws }).toEqual({ tests: 2, draws: 200 });
  expect(repeats).toHaveLength(1);
  const [{ repeat, runs, chances } = { repeat: 0, runs: 0, chances: {} }] = repeats;
  expect({ repeat, runs }).toEqual({ repeat: 1, runs: 2 });
  // The score interval of 200 of 200, and of 0 of 200: 3.84 / (200 + 3.84).
  expect(chances["dead"]).toEqual({ rate: 1, low: expect.closeTo(0.98115, 5) as number, high: 1 });
  expect(chances["none"]).toEqual({ rate: 0, low: 0, high: expect.closeTo(0.01885, 5) as number });
});

rareTest(
  "a test that falls to half is red where it misses its one run, and most others",
  async () => {
    const { repeats } = await planned("suite.yaml --rate 1 --repeat 1");
    // Missed at first (1/2) and in all of the fresh runs (at most 1/64).
    expect(repeats[0]?.chances["half"]?.rate).toBeLessThan(0.05);
  },
);

test("tests that never passed cannot fall: nothing is found", async () => {
  const { repeats } = await planned("suite.yaml --baseline never.json");
  // Where a test is thought to pass now and then, it did not before.
  expect(repeats[0]?.chances).toMatchObject({ dead: { rate: 0 }, none: { rate: 0 } });
});

test("a baseline of five passes each: a dead test is found", async () => {
  const { repeats } = await planned("suite.yaml --baseline sure.json --repeat 5");
  expect(repeats[0]?.chances["dead"]?.rate).toBe(1);
  expect(repeats[0]?.chances["none"]?.rate).toBeLessThan(0.1);
});

test("expectations that were edited since judge the stored answers again, which never met them", async () => {
  const { repeats } = await planned("suite.yaml --baseline edited.json");
  expect(repeats[0]?.chances).toMatchObject({ dead: { rate: 0 }, none: { rate: 0 } });
});

test("a test that says how often it runs is planned so often", async () => {
  const { repeats } = await planned("repeated.yaml --rate 1 --repeat 2");
  expect(repeats[0]?.runs).toBe(2 * 3);
});

test("tests of which the suite runs only some", async () => {
  const { tests } = await planned("only.yaml --rate 1 --repeat 1");
  expect(tests).toBe(1);
});

rareTest("without --repeat: five repeats, and the lowest that finds each change", async () => {
  const { repeats, needed } = await planned("suite.yaml --rate 1");
  expect(repeats.map(({ repeat, runs }) => [repeat, runs])).toEqual(
    [1, 2, 3, 5, 10].map((repeat) => [repeat, 2 * repeat]),
  );
  expect(needed).toMatchObject({ dead: 1 });
});

test("without --repeat the report names the lowest that finds each change", async () => {
  const line = ["wf", "test", "plan", join(folder, "only.yaml"), "--rate", "1"];
  const { out } = await cli(line, { elapsed: () => 0 });
  expect(out).toContain("# lowest --repeat that finds it in 80 % or more: one dead 1, ");
});

test("a test in quarantine cannot be what is found", async () => {
  const some = await planned("one-quarantined.yaml --repeat 2");
  expect(some).toMatchObject({ tests: 1, in_quarantine: ["S: a"], repeats: [{ runs: 2 }] });
  expect(await planned("suite.yaml --repeat 2")).toMatchObject({ tests: 2, in_quarantine: [] });
});

test("as many draws as fit in two seconds, the same for the same time", async () => {
  const ticking = (step: number): World => {
    let time = 0;
    return { elapsed: () => (time += step) };
  };
  const line = "suite.yaml --rate 1 --repeat 1";
  const slow = await planned(line, ticking(50));
  const fast = await planned(line, ticking(4));
  expect(slow.draws).toBe(200);
  // The clock is read once per draw or more often.
  expect(fast.draws).toBeGreaterThan(200);
  expect(fast.draws).toBeLessThan(500);
  expect(await planned(line, ticking(4))).toEqual(fast);
});

test.each([
  ["skipped.yaml", "all tests of these suites are skipped"],
  ["quarantined.yaml", "no test of these suites counts: all are in quarantine"],
  ["suite.yaml --baseline suite.yaml", "is not the result of a run of tests"],
  ["suite.yaml --history .", "--history requires --baseline"],
])("%s: %s", async (words, message) => {
  const { exit, err } = await plan(words);
  expect(exit).toBe(2);
  expect(err).toContain(message);
});
