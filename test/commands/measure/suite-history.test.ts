/** Results over time: `--history`, `wf test flaky`, and tests in quarantine. */
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verdictOf } from "../../../src/commands/measure/suites/flaky.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const at = (name: string) => join(folder, name);
const suite = (more = "") => `
name: Echo
tests:
  - { name: good, inputs: { query: a } }
  - { name: bad, inputs: { query: b }, expect: ['output query is "c"']${more} }
`;
await write(folder, { "plain.yaml": suite() });

/** Runs a line on a day; words that name a file are below the directory of this file's tests. */
const wf = (app: string, day: string, ...args: readonly string[]) =>
  sandbox.cli(
    ["wf", "--app", app, "test"].concat(
      args.map((word) => (/\.(yaml|json|xml)$|^history/.test(word) ? at(word) : word)),
    ),
    { folder, around: (host) => ({ ...host, now: () => new Date(day) }) },
  );

/** Results of one test, of which each letter is a day: P passed, F failed; a bar is a new version. */
function runsOf(letters: string) {
  let version = 0;
  const runs = [...letters].flatMap((letter, day) => {
    if (letter === "|") version++;
    if (letter === "|" || letter === " ") return [];
    return [{ at: new Date(day), version: String(version), passed: letter === "P" }];
  });
  const [first, ...others] = runs;
  if (!first) throw new Error("no runs");
  return [first, ...others] as const;
}

test.each([
  ["PPPP", "passing", null, 0],
  ["FFF", "failing", null, 0],
  ["PPFF", "broken", 2, 1],
  ["FFFP", "fixed", 3, 1],
  ["PFFP", "unclear", null, 2],
  ["PFPF", "flaky", null, 3],
  ["PP|FF", "failing", null, 0], // a new version says nothing about the old one
  ["PF|PF|PF", "broken", 7, 1],
  ["PFPF|PP", "flaky", null, 3],
])("%s is %s", (letters, verdict, day, switches) => {
  const since = day === null ? null : new Date(day);
  expect(verdictOf(runsOf(letters))).toEqual({ verdict, since, switches });
});

test("both results in one command are flaky", () => {
  const [first, second] = runsOf("PF");
  expect(verdictOf([first, { ...(second ?? first), at: first.at }]).verdict).toBe("flaky");
});

test("a history names flaky and broken tests, and skips files of others", async () => {
  for (const [day, app] of ["echo", "broken", "echo", "broken"].entries()) {
    const ran = await wf(app, `2026-03-0${day + 1}`, "run", "plain.yaml", "--history", "history");
    expect(ran.exit, ran.err).toBe(14);
  }
  const names = await readdir(at("history"));
  expect(names.map((name) => name.slice(0, 10))).toEqual(
    [1, 2, 3, 4].map((day) => `2026-03-0${day}`),
  );
  const [first = ""] = names;
  const saved = JSON.parse(await readFile(at(join("history", first)), "utf8")) as object;
  expect(saved).toMatchObject({ wf_test: 1, at: "2026-03-01T00:00:00.000Z" });
  await writeFile(at(join("history", first.replace("03-01", "02-01"))), '{"wf_test":1');
  await writeFile(at("history/other.json"), "{}");
  const tests = async () => {
    const { out: text } = await wf("echo", "2026-03-09", "flaky", "history", "-o", "json");
    return (JSON.parse(text) as { tests: unknown[] }).tests;
  };
  expect(await tests()).toMatchObject([
    { name: "Echo: bad", verdict: "failing" },
    { name: "Echo: good", verdict: "failing", last: "PFPF" }, // the application changed, not the test
  ]);
  for (const name of names) {
    const text = await readFile(at(join("history", name)), "utf8");
    await writeFile(at(join("history", name)), text.replaceAll('"app":"broken"', '"app":"echo"'));
  }
  const { out, err } = await wf("echo", "2026-03-09", "flaky", "history", "-o", "json");
  expect(err).toContain(
    "skipped 2 files that --history has not written as it is: other.json, 2026-02",
  );
  expect(JSON.parse(out)).toMatchObject({
    results: 4,
    tests: [
      { name: "Echo: good", verdict: "flaky", runs: 4, passes: 2, last: "PFPF", switches: 3 },
      { name: "Echo: bad", verdict: "failing", last_failure: "2026-03-04T00:00:00.000Z" },
    ],
  });
  const table = await wf("echo", "2026-03-09", "flaky", "history", "-o", "tsv");
  expect(table.out).toContain("# 1 of 2 tests flaky in 4 results\n");
  expect(table.out).toContain("flaky\tEcho: good\t2/4\t15–85 %\tPFPF\t2026-03-04T00:00:00Z\t\n");
  for (const name of names.slice(1)) {
    const text = await readFile(at(join("history", name)), "utf8");
    await writeFile(at(join("history", name)), text.replaceAll('"reused":false', '"reused":true'));
  }
  expect(await tests()).toMatchObject([{ runs: 1 }, { runs: 1 }]);
  const none = await wf("echo", "2026-03-09", "flaky", "history-of-nothing");
  expect([none.exit, none.err]).toEqual([
    2,
    expect.stringContaining("has no results of --history"),
  ]);
});

test("results of a merge and of a run at the same time are two files", async () => {
  const run = () =>
    wf("echo", "2026-03-01", "run", "plain.yaml", "--save", "a.json", "--history", "history2");
  await run();
  await wf("echo", "2026-03-01", "merge", "a.json", "--history", "history2", "--level", "0.1");
  expect(await readdir(at("history2"))).toHaveLength(2);
});

const day = "2026-12-31";
test.each([
  [
    `quarantine: ${day}`,
    "2026-12-31T23:59:59Z",
    0,
    `quarantine until ${day}, so it does not count: Echo: bad`,
  ],
  [
    `quarantine: ${day}`,
    "2027-01-01T00:00:00Z",
    14,
    `quarantine ended on ${day}, so it counts: Echo: bad`,
  ],
  [`quarantine: { until: ${day}, reason: new model }`, day, 0, "Echo: bad (new model)\n"],
])("%s at %s: %d", async (key, now, exit, note) => {
  await write(folder, { "kept.yaml": suite(`, ${key}`) });
  const ran = await wf("echo", now, "run", "kept.yaml", "--save", "kept.json", "--junit", "k.xml");
  expect([ran.exit, ran.out]).toEqual([exit, expect.stringContaining(note)]);
  expect(ran.out).toContain("failed\tEcho: bad\t");
  expect((await readFile(at("k.xml"), "utf8")).includes("<skipped/>")).toBe(exit === 0);
  expect((await wf("echo", now, "merge", "kept.json")).exit).toBe(exit);
  expect((await wf("echo", now, "run", "kept.yaml", "--fail-fast")).exit).toBe(exit);
});

test.each([
  ["quarantine: 2026-02-30", "line 5: expected a day such as 2026-12-31"],
  ["quarantine: soon", "line 5: expected a day such as 2026-12-31"],
  ["quarantine: { reason: slow }", "line 5: quarantine has no until"],
])("%s: %s", async (key, problem) => {
  await write(folder, { "wrong.yaml": suite(`, ${key}`) });
  const ran = await wf("echo", day, "run", "wrong.yaml");
  expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining(problem)]);
});
