/** The gate of `wf test run --baseline` at its default flags, by the program; long/suite-gate.test.ts has more of it. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gateRates } from "../../lib/gate-apps.ts";
import { gateSession } from "../../lib/gate-session.ts";
import { rareTest } from "../../lib/sampled.ts";
import { cli } from "../../lib/support.ts";

/** All tests of a suite that never pass. */
const dead = (count: number) =>
  Object.fromEntries(Object.keys(gateRates(count)).map((name) => [name, 0]));

test.each([1, 2, 20])("an application that answers nonsense to %d tests is red", async (count) => {
  const session = await gateSession({ good: gateRates(count), nonsense: dead(count) });
  const before = await session.judged("good", ["--save", "before.json"]);
  expect(before.exit).toBe(0);
  const same = await session.judged("good", ["--baseline", "before.json"]);
  expect([same.exit, same.comparison.verdict]).toEqual([0, "no decline"]);
  expect(same.err).not.toContain("warning");
  const now = await session.judged("nonsense", ["--baseline", "before.json"]);
  expect(now.exit).toBe(14);
  expect(now.tests.map(({ verdict }) => verdict)).toEqual(now.tests.map(() => "broken"));
  // Where the suite is worse, six fresh runs of a test suffice; otherwise a dead one is asked up to twenty times.
  expect(now.tests[0]?.fresh).toEqual({ passes: 0, runs: count === 20 ? 6 : 20 });
  await session.stop();
});

test("an outage that is over is named and green; errors are asked again after the rounds", async () => {
  const session = await gateSession({ good: gateRates(20) });
  const line = ["--repeat", "5", "--concurrency", "1"];
  await session.judged("good", [...line, "--save", "before.json"]);
  // The first 13 of 100 answers: the suite seems worse (p 0.00012), and does not when all is asked again.
  await session.control("POST /faults", "POST /chat-messages answer=No%20idea. times=13");
  const wrong = await session.judged("good", [...line, "--baseline", "before.json"]);
  expect(wrong.exit, wrong.err).toBe(0);
  expect(wrong.err).toContain("warning: the suite was worse, but not when asked again: 87 of 100");
  expect(wrong.comparison).toMatchObject({ verdict: "worse then", again: { passes: 100 } });
  expect(wrong.tests.filter(({ verdict }) => verdict === "passed again")).toHaveLength(13);
  // Every answer in the rounds is an error; what is asked again afterwards counts.
  await session.control("POST /faults", "POST /chat-messages status=500 times=100");
  const failing = await session.judged("good", [
    ...line,
    "--retries",
    "0",
    "--baseline",
    "before.json",
  ]);
  expect(failing.exit, failing.err).toBe(0);
  expect(failing.tests.map(({ passes }) => passes)).toEqual(failing.tests.map(() => 5));
  await session.stop();
});

test("a test of which every answer is an error is not judged: 10, or 14 if something is red", async () => {
  const session = await gateSession({ good: gateRates(2), bad: gateRates(2, { t2: 0 }) });
  await session.judged("good", ["--save", "before.json"]);
  const line = ["--retries", "0", "--concurrency", "1", "--baseline", "before.json"];
  // The first answer, and the third one, which is that of t1 once more.
  const faults = ["good", "bad"].flatMap((app) =>
    ["times=1", "skip=2 times=1"].map(
      (limits) => `POST /chat-messages status=500 app=${app} ${limits}`,
    ),
  );
  await session.control("POST /faults", faults.join("\n"));
  const lost = await session.judged("good", line);
  expect([lost.exit, lost.tests[0]?.verdict]).toEqual([10, "not judged"]);
  expect(lost.err).toContain("asking 1 test again after errors\n");
  const both = await session.judged("bad", line);
  expect(both.exit).toBe(14);
  expect(both.err).toContain("1 broken: S: t2; 1 test could not be judged: S: t1\n");
  await session.stop();
});

test("a test that only has errors when it is asked again is asked three times more", async () => {
  const session = await gateSession({ good: gateRates(2), bad: gateRates(2, { t2: 0 }) });
  await session.judged("good", ["--repeat", "2", "--save", "before.json"]);
  await session.control("POST /faults", "POST /chat-messages status=500 app=bad skip=4");
  const line = ["--repeat", "2", "--retries", "0", "--concurrency", "1"];
  const { tests } = await session.judged("bad", [...line, "--baseline", "before.json"]);
  const statuses = tests[1]?.results.map(({ status }) => status).join(" ");
  expect(statuses).toBe("failed failed error error error");
  await session.stop();
});

test("files of results say what they are; the looks at a baseline are counted", async () => {
  const session = await gateSession({ good: gateRates(2) });
  const before = await session.judged("good", ["--save", "before.json"]);
  expect(before).toMatchObject({
    at: expect.stringMatching(/^20\d\d-.*Z$/),
    program: expect.stringMatching(/^\d+\.\d+\.\d+/),
    server_version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    rate: { rate: 1 },
  });
  const looks: number[] = [];
  for (let look = 0; look < 5; look++)
    looks.push(
      (await session.judged("good", ["--baseline", "before.json"])).comparison.baseline.looks,
    );
  expect(looks).toEqual([1, 2, 3, 4, 5]);
  const read = await cli(
    ["wf", "test", "merge", session.at("now.json"), "--baseline", session.at("before.json")],
    { folder: session.folder, env: session.env },
  );
  expect(read.out).toContain("comparison 6 with it\n");
  expect(read.out).toContain("3 to 51 of 100 simulated suites had at least one in thirty\n");
  // A history counts them for all machines.
  const first = await session.judged("good", ["--baseline", "before.json", "--history", "history"]);
  const second = await session.judged("good", [
    "--baseline",
    "before.json",
    "--history",
    "history",
  ]);
  expect([first, second].map(({ comparison }) => comparison.baseline.looks)).toEqual([1, 2]);
  expect(await readdir(session.at("history"))).toHaveLength(2);
  await session.stop();
});

rareTest(
  "a history is used up to the baseline, without alarms, and what is refused is named",
  async () => {
    const session = await gateSession({ good: gateRates(3), bad: gateRates(3, { t2: 0 }) });
    const kept = ["--history", "history"];
    await session.judged("good", ["--save", "first.json", ...kept]);
    const alarm = await session.judged("bad", ["--baseline", "first.json", ...kept]);
    expect(alarm.exit).toBe(14);
    for (let night = 0; night < 4; night++) await session.judged("good", kept);
    await session.judged("good", ["--save", "before.json"]);
    const used = await session.judged("good", ["--baseline", "before.json", ...kept]);
    expect(used.comparison.history).toEqual({ used: 5, refused: ["ended with an alarm"] });
    const later = await session.judged("good", ["--baseline", "before.json", ...kept]);
    expect(later.comparison.history).toEqual({
      used: 5,
      refused: ["ended with an alarm", "not before the baseline"],
    });
    const early = await session.judged("good", ["--baseline", "first.json", ...kept]);
    expect(early.comparison.history.used).toBe(0);
    // A plan reads both in the same way.
    const planned = async (baseline: string) => {
      const files = ["--baseline", session.at(baseline), "--history", session.at("history")];
      const line = ["wf", "test", "plan", session.at("suite.yaml"), ...files, "-o", "json"];
      const { out } = await cli(line, { elapsed: () => 0 });
      return (JSON.parse(out) as { readonly history: number }).history;
    };
    expect([await planned("before.json"), await planned("first.json")]).toEqual([5, 0]);
    // Results of another application, and of another server.
    for (const [from, to] of [
      ['"app":"good"', '"app":"other"'],
      ['"server":"', '"server":"https://other.example/'],
    ] as const) {
      const names = await readdir(session.at("history"));
      const texts = new Map<string, string>();
      for (const name of names) {
        const path = join(session.at("history"), name);
        texts.set(path, await readFile(path, "utf8"));
        await writeFile(path, (texts.get(path) ?? "").replaceAll(from, to));
      }
      const now = await session.judged("good", ["--baseline", "before.json", ...kept]);
      expect([now.comparison.history.used, await planned("before.json")]).toEqual([0, 0]);
      for (const [path, text] of texts) await writeFile(path, text);
    }
    await session.stop();
  },
);

test("edited expectations judge the stored answers of the baseline again; another question is edited", async () => {
  const session = await gateSession({ good: gateRates(3) });
  await session.judged("good", ["--save", "before.json"]);
  const suite = {
    name: "S",
    defaults: { expect: ['text contains "right"'] },
    tests: [
      { name: "t1", query: "t1", expect: ['text contains "leave"'] },
      { name: "t2", query: "t3" },
      { name: "t3", query: "t3", expect: ['text contains "unicorns"'] },
    ],
  };
  await writeFile(session.at("suite.yaml"), JSON.stringify(suite));
  const now = await session.judged("good", ["--baseline", "before.json"]);
  // No answer of t3 ever had a unicorn: it fails as before, and t2 is judged by its own rate.
  expect(now.tests.map(({ verdict }) => verdict)).toEqual(["passes", "edited", "fails as before"]);
  expect(now.exit).toBe(0);
  const line = [
    "wf",
    "test",
    "merge",
    session.at("now.json"),
    "--baseline",
    session.at("before.json"),
  ];
  const read = await cli(line, { folder: session.folder, env: session.env });
  expect(read.out).toContain(
    "edited (judged by their own rate, not part of the level): S: t1, S: t2, S: t3",
  );
  for (const none of ["new (judged", "renamed:", "history:"]) expect(read.out).not.toContain(none);
  await session.stop();
});

test("a run that cannot find a dead test says so; --dry-run prints the most that is asked", async () => {
  const session = await gateSession({ good: gateRates(3) });
  await session.judged("good", ["--save", "before.json"]);
  const run = (...more: readonly string[]) =>
    cli(session.line("good", ["--baseline", "before.json", ...more]), {
      env: session.env,
      folder: session.folder,
    });
  const strict = await run("--level", "0.01", "--confirm", "0");
  expect(strict.err).toContain("a test that never passes any more cannot be called broken");
  expect((await run()).err).not.toContain("cannot be called broken");
  const dry = await run("-n", "--repeat", "2");
  expect([dry.exit, dry.err]).toEqual([0, expect.stringContaining("asks 6 runs, and at most 72:")]);
  await session.stop();
});
