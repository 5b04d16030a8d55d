/** Runs of suites that are compared with an earlier run or another application: what is asked, said and exited with. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { readAnswerRules } from "../../../src/sandbox/apps/definitions/read-rules.ts";
import { startSandbox } from "../../../src/sandbox/http/server.ts";
import { hasResult, interruptedWhen } from "../../lib/after-append.ts";
import { write } from "../../lib/directory.ts";
import { fastClock } from "../../lib/fast-clock.ts";
import { rareTest } from "../../lib/sampled.ts";
import { cli, temporaryDirectory, type World } from "../../lib/support.ts";

/** An application that answers `right` to each question but these, of which it gives a share right. */
const app = (name: string, rates: Readonly<Record<string, number>>) =>
  readAnswerRules(
    {
      rules: Object.entries(rates).map(([question, rate]) => ({
        question,
        answers: [
          { answer: "right", weight: rate },
          { answer: "wrong", weight: 1 - rate },
        ].filter(({ weight }) => weight > 0),
      })),
      otherwise: ["right"],
    },
    name,
  );

const sandbox = await startSandbox({
  clock: fastClock(50),
  directory: null,
  seed: 7,
  applications: [
    app("good", { q1: 1 }),
    app("bad", { q3: 0 }),
    app("flaky", { q1: 0.5, q2: 0.6, q3: 0.7 }),
  ],
});
afterAll(() => sandbox.stop());
const folder = await temporaryDirectory();
const at = (name: string) => join(folder, name);

/** A suite of tests that ask their names. */
const suite = (names: readonly string[], more: object = {}) =>
  JSON.stringify({
    name: "S",
    defaults: { expect: ['text is "right"'] },
    tests: names.map((name) => ({ name, query: name, ...more })),
  });
const names = ["q1", "q2", "q3", "q4", "q5"];
await write(folder, { "suite.yaml": suite(names) });

const wf = (name: string, args: readonly string[], world: World = {}) =>
  cli(
    ["wf", "--app", name, "test", "run", at("suite.yaml"), "--repeat", "5", "-o", "json"].concat(
      args.map((word) => (word.endsWith(".json") ? at(word) : word)),
    ),
    {
      env: {
        KB_BASE_URL: `${sandbox.origin}/v1`,
        KB_PROFILE: "sandbox",
        KB_SANDBOX_APP_KEYS: JSON.stringify(sandbox.appKeys),
      },
      folder,
      ...world,
    },
  );

interface Printed {
  readonly tests: readonly {
    readonly name: string;
    readonly verdict: string;
    readonly fresh: { readonly passes: number; readonly runs: number } | null;
    readonly results: readonly { readonly repeat: number; readonly side: string }[];
  }[];
  readonly old: readonly unknown[] | null;
  readonly comparison: {
    readonly p: number;
    readonly verdict: string;
    readonly removed: readonly string[];
    readonly again: { readonly passes: number; readonly runs: number } | null;
  };
}
const printed = (out: string) => JSON.parse(out) as Printed;
const verdicts = (out: string) =>
  Object.fromEntries(
    printed(out).tests.map(({ name, verdict }) => [name.slice("S: ".length), verdict]),
  );
const errorOf = (text: string) =>
  (JSON.parse(text.slice(text.indexOf("{"))) as { error: { message: string; tests?: string[] } })
    .error;

await wf("good", ["--save", "good.json"]);
await wf("flaky", ["--save", "flaky.json"]);

test("a test that broke is asked again, and fails the run", async () => {
  const ran = await wf("bad", ["--baseline", "good.json"]);
  expect(ran.exit).toBe(14);
  expect(ran.err).toContain("asking 1 test again, up to 6 times each: S: q3\n");
  // The exact p of 20 of 25 after 25 of 25, test by test, is that of 0 of 5 after 5 of 5: 1/252.
  expect(ran.err).toContain("asking 4 tests again, since fewer runs passed than before: S: q1, ");
  expect(errorOf(ran.err).message).toBe(
    "the suite is worse: 20 of 25 runs passed, 25 of 25 before; asked again 80 %, 100 % before (p 0.004, limit 5 %); 1 broken: S: q3",
  );
  const { tests, comparison } = printed(ran.out);
  expect(tests[2]).toMatchObject({ verdict: "broken", fresh: { passes: 0, runs: 6 } });
  expect(tests[2]?.results.map(({ repeat }) => repeat)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
  ]);
  // Runs of a second look are not fresh runs of the others.
  expect(tests[0]).toMatchObject({ verdict: "passes", fresh: null });
  expect(tests[0]?.results).toHaveLength(10);
  expect(comparison).toMatchObject({ verdict: "worse", again: { passes: 20, runs: 25 } });
});

rareTest("a suite that is as flaky as before passes", async () => {
  const ran = await wf("flaky", ["--baseline", "flaky.json", "--save", "again.json"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(printed(ran.out).comparison.verdict).toBe("no decline");
});

describe("the JUnit report fails if and only if the command does", () => {
  const problems = async (app: string, ...args: readonly string[]) => {
    const ran = await wf(app, ["--junit", at("tests.xml"), ...args]);
    const cases = (await readFile(at("tests.xml"), "utf8")).split("<testcase ").slice(1);
    const found = cases.flatMap((text): [string, string][] => {
      const [, name = ""] = /name="([^"]*)" time/.exec(text) ?? [];
      const [, kind = "", message = ""] =
        /<(failure|skipped)(?: message="([^"]*)")?/.exec(text) ?? [];
      return kind === "" ? [] : [[name, `${kind}: ${message}`]];
    });
    return { exit: ran.exit, found: Object.fromEntries(found) };
  };

  test("a broken test and a suite that is worse are failures", async () => {
    expect(await problems("bad", "--baseline", "good.json")).toEqual({
      exit: 14,
      found: {
        q3: "failure: broken: S: q3 - 0 of 11 now, 5 of 5 before; with nothing changed a suite like this shows such a test in less than 0.1 of 100 runs (e)",
        "the suite as a whole":
          "failure: the suite is worse: 20 of 25 runs passed, 25 of 25 before; asked again 80 %, 100 % before (p 0.004, limit 5 %)",
      },
    });
  });

  test("what the comparison lets pass is skipped, with the verdict", async () => {
    const { exit, found } = await problems("flaky", "--baseline", "flaky.json");
    const kinds = Object.values(found);
    expect(exit).toBe(0);
    expect(kinds).toHaveLength(3);
    for (const kind of kinds) expect(kind).toMatch(/^skipped: (varies|passed again): S: q/);
  });

  test("a removed test is a failure, unless that is allowed", async () => {
    await writeFile(at("suite.yaml"), suite(["q2", "q3", "q4", "q5"]));
    expect(await problems("good", "--baseline", "good.json")).toEqual({
      exit: 14,
      found: { "S: q1": "failure: removed since the baseline (--allow-removed)" },
    });
    const allowed = await problems("good", "--baseline", "good.json", "--allow-removed");
    expect(allowed).toEqual({ exit: 0, found: {} });
    await writeFile(at("suite.yaml"), suite(names));
  });

  test("a suite over its budget is a failure", async () => {
    await writeFile(
      at("suite.yaml"),
      JSON.stringify({ ...JSON.parse(suite(["q2"])), budget: { seconds: 0 } }),
    );
    const { exit, found } = await problems("good");
    expect(exit).toBe(14);
    expect(found).toEqual({
      budget: expect.stringMatching(/^failure: suite S used .* at most 0$/),
    });
    await writeFile(at("suite.yaml"), suite(names));
  });
});

test("--confirm 0 asks nothing again", async () => {
  const ran = await wf("bad", ["--baseline", "good.json", "--confirm", "0"]);
  expect(ran.exit).toBe(14);
  expect(ran.err).not.toContain("asking");
  expect(printed(ran.out).tests[2]).toMatchObject({ verdict: "broken", fresh: null });
});

describe("tests that are gone, new or renamed", () => {
  const change = async (list: readonly string[], text = suite(list)) =>
    writeFile(at("suite.yaml"), text);
  afterAll(() => change(names));

  test("removed ones fail, unless that is allowed; skipped ones do not", async () => {
    await change(["q1", "q2"]);
    const ran = await wf("good", ["--baseline", "good.json"]);
    expect(ran.exit).toBe(14);
    expect(errorOf(ran.err).message).toBe(
      "3 tests removed since the baseline (--allow-removed): S: q3, S: q4, S: q5",
    );
    expect((await wf("good", ["--baseline", "good.json", "--allow-removed"])).exit).toBe(0);
    await change(names);
    const only = await wf("good", ["--baseline", "good.json", "--only", "q1"]);
    expect(only.exit, only.err).toBe(0);
    expect(printed(only.out).comparison.removed).toEqual([]);
  });

  test("a new one must pass by itself; one with another name is compared", async () => {
    const text = suite(names).replace('"name":"q5"', '"name":"q5 renamed"');
    await change(names, text.replace("}]}", '},{"name":"new","query":"q3"}]}'));
    const ran = await wf("bad", ["--baseline", "good.json", "--only", "new", "--only", "renamed"]);
    expect(ran.exit).toBe(14);
    expect(errorOf(ran.err).message).toBe("1 new and below its rate: S: new");
    expect(ran.err).toContain("asking 1 test again, up to 6 times each: S: new\n");
    expect(verdicts(ran.out)).toEqual({ "q5 renamed": "passes", new: "new" });
  });
});

describe("--against", () => {
  test("asks both in turn and compares them", async () => {
    const ran = await wf("bad", ["--against", "good"]);
    expect(ran.exit).toBe(14);
    expect(verdicts(ran.out)).toMatchObject({ q1: "passes", q3: "broken" });
    const { old, comparison, tests } = printed(ran.out);
    expect(comparison).toMatchObject({ verdict: "worse", baseline: null });
    expect(old).toHaveLength(5);
    expect(old?.[2]).toMatchObject({ name: "S: q3", passes: 5, fresh: { passes: 6, runs: 6 } });
    expect(tests[2]).toMatchObject({ passes: 0, fresh: { passes: 0, runs: 6 } });
  });

  test("names a version of the workflow or a profile, too", async () => {
    const version = "00000000-0000-4000-8000-000000000000";
    const unknown = await wf("good", ["--against", version]);
    expect(unknown.exit).toBe(2);
    expect(errorOf(unknown.err).message).toContain("has no versions of a workflow");
    const same = await wf("good", ["--against", "profile:sandbox"]);
    expect(same.exit, same.err).toBe(0);
    expect(verdicts(same.out)).toMatchObject({ q1: "passes" });
  });

  test("takes no baseline", async () => {
    const ran = await wf("good", ["--against", "bad", "--baseline", "good.json"]);
    expect(ran.exit).toBe(2);
  });
});

test.each([
  { flags: ["--baseline", "good.json"], planned: 25, fresh: 2 },
  { flags: ["--against", "good"], planned: 50, fresh: 3 },
])(
  "$flags.0: an interrupted run continues where it asked again",
  async ({ flags, planned, fresh }) => {
    const line = [...flags, "--concurrency", "1"];
    const ended = await wf("bad", line);
    let results = 0;
    const isDue = (text: string) => hasResult(text) && ++results === planned + fresh;
    const cut = await wf("bad", line, interruptedWhen(isDue));
    expect(cut.exit).toBe(130);
    expect(cut.err).toContain("asking 1 test again");
    const again = await wf("bad", line);
    expect(again.err).toContain(`resuming: ${planned} of ${planned} runs of tests already done`);
    expect(again.exit).toBe(14);
    expect(verdicts(again.out)).toEqual(verdicts(ended.out));
    expect(printed(again.out).comparison).toEqual(
      expect.objectContaining({ p: (printed(ended.out).comparison as { p?: number }).p }),
    );
    expect(printed(again.out).tests[2]?.fresh).toEqual({ passes: 0, runs: 6 });
  },
);

test("results of earlier versions are compared by name and question, and that is said", async () => {
  const saved = JSON.parse(await readFile(at("good.json"), "utf8")) as unknown;
  const later = new Set(
    "confirm against old side confirms annotated pass fresh content second_look at program server_version".split(
      " ",
    ),
  );
  const text = JSON.stringify(saved, (key, value: unknown) => (later.has(key) ? undefined : value));
  await writeFile(at("old.json"), text);
  const ran = await wf("bad", ["--baseline", "old.json", "--save", "new.json"]);
  expect(verdicts(ran.out)).toMatchObject({ q1: "passes", q3: "broken" });
  const line = ["wf", "test", "merge", at("new.json"), "--baseline", at("old.json")];
  const read = await cli(line, { folder });
  expect(read.out).toContain("old.json of an unknown time (sha256 ");
  expect(read.out).toContain("says neither questions nor expectations: 5 tests\n");
  // Of the oldest versions, which did not store questions, only names are known.
  await writeFile(at("old.json"), text.replaceAll('"query":"q1"', '"query":"another"'));
  const asked = await wf("good", ["--baseline", "old.json"]);
  expect(verdicts(asked.out)).toMatchObject({ q1: "edited", q2: "passes" });
});

test("shards share the level, and their merged results have all of it", async () => {
  for (const index of [1, 2])
    await wf("bad", [
      "--shard",
      `${index}/2`,
      "--baseline",
      "good.json",
      "--save",
      `${index}.json`,
    ]);
  const line = ["wf", "test", "merge", at("1.json"), at("2.json"), "--baseline", at("good.json")];
  const merged = await cli([...line, "-o", "json"], { folder });
  expect(merged.exit).toBe(14);
  expect(verdicts(merged.out)).toMatchObject({ q1: "passes", q3: "broken" });
  expect(printed(merged.out).comparison.removed).toEqual([]);
});

test("pass: says how many runs must pass", async () => {
  await writeFile(at("suite.yaml"), suite(["q3"], { pass: 0.2 }));
  expect((await wf("flaky", [])).exit).toBe(0);
  await writeFile(at("suite.yaml"), suite(["q1"], { pass: { lower_bound: 0.9 } }));
  expect((await wf("good", [])).exit).toBe(14);
  await writeFile(at("suite.yaml"), suite(["q1"], { pass: "most" }));
  const wrong = await wf("good", []);
  expect(wrong.exit).toBe(2);
  expect(wrong.err).toContain("expected a number");
  await writeFile(at("suite.yaml"), suite(names));
});

test.each([["--confirm", "3"], ["--strict"], ["--allow-removed"]])(
  "%s requires something to compare with",
  async (...flags) => {
    const ran = await wf("good", flags);
    expect(ran.exit).toBe(2);
    expect(errorOf(ran.err).message).toBe(`${flags[0]} requires --baseline or --against`);
  },
);
