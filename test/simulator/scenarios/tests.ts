import { deepEqual, equal, ok } from "node:assert/strict";
import { appKey } from "../../../src/sandbox/protocol/ids.ts";
import { questionsTo, type StoredQuestion } from "../applications.ts";
import { isObject, tryParseJson } from "../../../src/lib/json.ts";
import { couldNotLock, requireLines } from "../claims.ts";
import type { Machine } from "../machine.ts";
import type { Ended } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";
import { talker } from "./follow-apps.ts";

const HOME = "/home/user";
const SUITE = `${HOME}/suite.yaml`;
const STATE = `${HOME}/state`;

/** Codes with which tests may end that faults disturb. */
const honest = [1, 5, 7, 11, 12, 130];

/** A test of the suite. */
interface Test {
  readonly name: string;
  /** What is asked, one turn after the other; no other test asks it. */
  readonly turns: readonly string[];
  readonly fails: boolean;
}

/** What the scenario works with. */
interface Stage {
  readonly world: World;
  readonly machine: Machine;
  readonly app: string;
  readonly tests: readonly Test[];
  readonly repeat: number;
}

/** One run of a test, as it is printed and recorded. */
interface Result {
  readonly test: string;
  readonly repeat: number;
  readonly status: string;
  readonly run: string | null;
  readonly conversation: string | null;
  readonly answer: string | null;
  readonly error: string | null;
}

/** The report of a run of tests. */
interface Report {
  readonly stopped: object | null;
  readonly tests: readonly { readonly status: string; readonly results: readonly Result[] }[];
}

function makeTests(world: World, app: string): Test[] {
  const count = 1 + world.below(4, "tests");
  return Array.from({ length: count }, (_, index) => {
    const turns = app === "talker" ? 1 + world.below(3, `turns of ${index}`) : 1;
    const fails = world.random(`verdict of ${index}`) < 0.3;
    return {
      name: `test ${index}`,
      turns: Array.from({ length: turns }, (_turn, turn) => `question ${index}.${turn}`),
      fails,
    };
  });
}

/** The suite as a file. */
function suiteOf({ world, app, tests }: Pick<Stage, "world" | "app" | "tests">): string {
  const turnOf = (query: string) => {
    const words = `[[say:an answer of some words]] [[slow:${world.below(300, `slow ${query}`)}]]`;
    const seconds = world.below(6, `seconds of ${query}`);
    return app === "talker" ? { query: `${query} ${words}` } : { inputs: { query, seconds } };
  };
  const cases = tests.map(({ name, turns, fails }) => {
    const expect = fails ? ['text contains "nowhere"'] : ["run succeeded"];
    const all = turns.map((query) => ({ ...turnOf(query), expect }));
    return { name, ...(all.length === 1 ? all[0] : { turns: all }) };
  });
  return JSON.stringify({ name: "Suite", tests: cases }); // which is YAML, too
}

/** The questions, without the words that say how to answer. */
const asked = ({ world, app }: Stage): StoredQuestion[] =>
  questionsTo(world.server, app).map((each) => ({
    ...each,
    query: each.query.replace(/ \[\[.*/, ""),
  }));

/** The results that are recorded for the next command. */
function recorded({ machine: { disk } }: Stage): Result[] {
  const names = disk.has(STATE) ? disk.list(STATE) : [];
  const journals = names.filter((name) => /^suite-.*\.jsonl$/.test(name));
  return journals.flatMap((name) =>
    disk
      .text(`${STATE}/${name}`)
      .split("\n")
      .slice(0, -1)
      .map(tryParseJson)
      .filter(isObject) // a full disk or a kill cuts lines
      .flatMap(({ result }) => (isObject(result) ? [result as unknown as Result] : [])) // not starts
      .filter(({ status }) => ["passed", "failed"].includes(status)),
  );
}

/** A result has the answer of the application to its own questions, and the right verdict. */
function requireResult(stage: Stage, result: Result, questions: readonly StoredQuestion[]): void {
  const test = stage.tests.find(({ name }) => name === result.test);
  ok(test, `no ${result.test}`);
  if (result.status === "error") ok(result.error, `${result.test} has no error`);
  if (result.status !== "passed" && result.status !== "failed") return;
  equal(result.status, test.fails ? "failed" : "passed", `${result.test}: ${result.error}`);
  const question = questions.find(({ run_id }) => run_id === result.run);
  equal(question?.query, test.turns.at(-1), `the question of ${result.test}`);
  if (!stage.world.server.wasRestarted) equal(result.answer, question?.answer, "the answer");
  if (result.conversation === null) return;
  const conversation = questions.filter((each) => each.conversation_id === result.conversation);
  deepEqual(
    conversation.map(({ query }) => query),
    test.turns,
    "the turns of a conversation",
  );
}

/** The exit code says what the results are. */
function requireReport(stage: Stage, { exit, out, err }: Ended, report: Report): Result[] {
  const results = report.tests.flatMap((test) => test.results);
  const questions = asked(stage);
  for (const result of results) requireResult(stage, result, questions);
  const judged = results.filter(({ status }) => status === "passed" || status === "failed");
  equal(new Set(judged.map(({ run }) => run)).size, judged.length, "an answer counts twice");
  if (report.stopped !== null) return results;
  const has = (status: string) => results.some((each) => each.status === status);
  const unfailed = has("failed") ? 14 : 0;
  equal(exit, has("error") ? 10 : unfailed, `the exit code: ${err}${out}`);
  equal(has("not run"), false, "a test was not run");
  return results;
}

const start = ({ world, machine, app, repeat }: Stage, name: string, more: readonly string[]) =>
  world.start(["wf", "test", "run", SUITE, "--repeat", `${repeat}`, "-o", "json", ...more], {
    name,
    machine,
    env: { KB_APP_KEY: appKey(app) },
  });

/** Number of times that each question may be asked by the next command. */
function openQuestions(stage: Stage): Map<string, number> {
  const known = recorded(stage);
  return new Map(
    stage.tests.flatMap(({ name, turns }) => {
      const done = new Set(known.filter(({ test }) => test === name).map(({ repeat }) => repeat));
      return turns.map((turn): [string, number] => [turn, stage.repeat - done.size]);
    }),
  );
}

const reportIn = ({ out }: Ended): Report | undefined =>
  out === "" ? undefined : (JSON.parse(out) as Report);

/** The command until it has run all tests; returns the results. */
async function runTests(stage: Stage, more: readonly string[] = []): Promise<Result[]> {
  const { world } = stage;
  for (let turn = 0; ; turn++) {
    if (turn === 4) world.calm();
    ok(turn < 8, "undisturbed tests do not end");
    const name = `tests ${[turn, ...more].join(" ")}`;
    const open = openQuestions(stage);
    const before = asked(stage);
    const process = start(stage, name, more);
    const isTwice = more.length === 0 && world.happens("twice", name, 0.2);
    if (isTwice) await world.pause(world.random(`twice ${name}`) * 2000);
    const second = isTwice ? await start(stage, `${name} again`, more).ended : undefined;
    const end = await process.ended;
    const isBusy = second !== undefined && /another command is running/.test(second.err);
    // Without its lock a journal is not deleted, and shards have others.
    if ((!isTwice || isBusy) && !couldNotLock(world))
      requireOpen(open, asked(stage).slice(before.length));
    for (const each of [end, second]) {
      const report = each && each.exit !== null ? reportIn(each) : undefined;
      if (!each || !report) continue;
      if (each.err.includes("--save: failed to write")) {
        if (!each.err.includes("it cannot resume")) requireRecorded(stage, report);
        continue;
      }
      const results = requireReport(stage, each, report);
      if (report.stopped === null) return results;
    }
    requireLines(stage.machine, STATE, /^suite-.*\.jsonl$/);
    if (end.exit !== null) ok(honest.includes(end.exit), `exit code ${end.exit}: ${end.err}`);
    // A slow server may still receive questions of a command that was killed.
    await world.pause(60_000 + world.random(`after ${name}`) * 20_000);
  }
}

/** What could not be saved is still recorded for the next command. */
function requireRecorded(stage: Stage, report: Report): void {
  const known = new Set(recorded(stage).map(({ run }) => run));
  const results = report.tests.flatMap((test) => test.results);
  for (const { status, run, test } of results)
    if (status === "passed" || status === "failed") ok(known.has(run), `${test} is not recorded`);
}

/** Nothing is asked that an earlier command has recorded, and nothing twice by one command. */
function requireOpen(
  open: ReadonlyMap<string, number>,
  questions: readonly StoredQuestion[],
): void {
  for (const [query, most] of open) {
    const count = questions.filter((each) => each.query === query).length;
    ok(count <= most, `${query} is asked ${count} times instead of ${most}`);
  }
}

/** Two shards and their merged results: each test is in them. */
async function runShards(stage: Stage): Promise<void> {
  const { world, machine } = stage;
  const files = [1, 2].map((index) => `${HOME}/shard-${index}.json`);
  const all: Result[] = [];
  for (const [index, file] of files.entries())
    all.push(...(await runTests(stage, ["--shard", `${index + 1}/2`, "--save", file])));
  world.calm();
  const argv = ["wf", "test", "merge", ...files, "-o", "json"];
  const merged = await world.start(argv, { name: "merge", machine }).ended;
  const report = reportIn(merged);
  ok(report, merged.err);
  const results = requireReport(stage, merged, report);
  const byName = (a: Result, b: Result) => (keyOf(a) < keyOf(b) ? -1 : 1);
  deepEqual(results.toSorted(byName), all.toSorted(byName), "the merged results");
  requireWhole(stage, results);
}

const keyOf = ({ test, repeat }: Result) => `${test} ${repeat}`;

/** Each test has each of its repeats. */
function requireWhole({ tests, repeat }: Stage, results: readonly Result[]): void {
  const wanted = tests.flatMap(({ name }) =>
    Array.from({ length: repeat }, (_, index) => `${name} ${index + 1}`),
  );
  deepEqual(results.map(keyOf).toSorted(), wanted.toSorted(), "the tests");
}

async function play(world: World): Promise<void> {
  const app = world.pick(["slow", "talker"], "application");
  const machine = world.machine();
  const tests = makeTests(world, app);
  const stage: Stage = { world, machine, app, tests, repeat: 1 + world.below(2, "repeat") };
  machine.disk.put(SUITE, suiteOf(stage));
  if (world.random("shards") < 0.25) await runShards(stage);
  else requireWhole(stage, await runTests(stage));
  world.calm();
  await world.pause(60_000);
  requireWhole(stage, await runTests(stage, ["--fail-fast"].slice(tests.length)));
}

/** A suite of tests, with turns and repeats, that is killed and continues. */
export const tests: Scenario = {
  name: "tests",
  server: () => ({ models: true, applications: [talker] }),
  play,
  guards: [
    {
      name: "recorded results are not used",
      file: "src/commands/measure/suites/run.ts",
      from: "if (known) return known;",
      to: "",
    },
    {
      name: "a recorded result counts for all repeats",
      file: "src/commands/measure/suites/runs/run-journal.ts",
      from: "JSON.stringify([suite.path, test.name, repeat, side]);",
      to: "JSON.stringify([suite.path, test.name, repeat > 0, side]);",
    },
    {
      name: "results are forgotten before they are saved",
      file: "src/commands/measure/suites/run.ts",
      from: "const forget = stopped ? undefined : journal.remove;",
      to: "const forget = undefined;\n    if (!stopped) await journal.remove();",
    },
    {
      name: "tests that only one shard has are not merged",
      file: "src/lib/collect.ts",
      from: "Math.max(0, ...lists.map(({ length }) => length))",
      to: "Math.min(...lists.map(({ length }) => length))",
    },
  ],
};
