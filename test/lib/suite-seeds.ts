/** Suites whose tests have known pass rates: what a comparison with a baseline says about them. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compareSuites, doubtfulTests } from "../../src/commands/measure/suites/comparison.ts";
import { testResult } from "../../src/commands/measure/suites/results.ts";
import { storedRun } from "../../src/commands/measure/suites/answers/index.ts";
import type { TestRun } from "../../src/commands/measure/suites/answers/index.ts";
import { RuleDraws } from "../../src/sandbox/apps/definitions/answer-rules.ts";
import { readApplications } from "../../src/sandbox/apps/definitions/applications.ts";
import { readAnswerRules } from "../../src/sandbox/apps/definitions/read-rules.ts";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { fastClock } from "./fast-clock.ts";
import { cli, temporaryDirectory } from "./support.ts";

/** Tests of one kind, and how often they pass in the baseline and now. */
interface Kind {
  readonly tests: number;
  readonly before: number;
  readonly now: number;
}

/** The tests of a suite by kind, and how often each is repeated. */
export interface Experiment {
  readonly kinds: Readonly<Record<string, Kind>>;
  readonly repeat: number;
  /** How often a test is asked again that misses what it passed (default 5). */
  readonly confirm?: number;
}

/** What a seed gives. */
interface SeedResult {
  /** Passes by the name of the test, in the baseline and now. */
  readonly passes: Readonly<Record<string, readonly [before: number, now: number]>>;
  /** Names of tests that are called worse, and better. */
  readonly broken: readonly string[];
  readonly fixed: readonly string[];
  readonly isWorse: boolean;
}

const LEVEL = 0.05;

/** A run of a test that passed, or did not. */
export const runOf = (test: string, passed: boolean, more: Partial<TestRun> = {}): TestRun => ({
  ...storedRun({ suite: "suite", path: "suite.yaml", test, status: passed ? "passed" : "failed" }),
  ...more,
});

const testsOf = ({ kinds }: Experiment) =>
  Object.entries(kinds).flatMap(([kind, { tests, ...rates }]) =>
    Array.from({ length: tests }, (_, index) => ({ name: `${kind} ${index + 1}`, ...rates })),
  );

/** Applications that answer the question of a test with `right` as often as the test shall pass. */
const applications = (experiment: Experiment): object[] =>
  (["before", "now"] as const).map((when) => {
    const rules = testsOf(experiment).map(({ name, [when]: rate }) => ({
      question: name,
      answers: [
        ...(rate > 0 ? [{ answer: "right", weight: rate }] : []),
        ...(rate < 1 ? [{ answer: "wrong", weight: 1 - rate }] : []),
      ],
    }));
    return readAnswerRules({ rules }, when);
  });

/** Draws the answers without a server, in the way of the sandbox. */
export function drawnSuite(experiment: Experiment, seed: number): SeedResult {
  const { confirm = CONFIRM } = experiment;
  const apps = readApplications(applications(experiment));
  const draws = new RuleDraws(seed);
  const tests = testsOf(experiment).map(({ name }) => name);
  const runsOf = (app: string, name: string, count: number, confirms = false) => {
    const rules = apps.get(app)?.rules ?? { rules: [], otherwise: [] };
    return Array.from({ length: count }, () => {
      const { answer } = draws.draw(rules, { app, question: name, earlier: [] });
      return runOf(name, answer === "right", { confirms });
    });
  };
  const before = tests.map((name) => testResult(name, runsOf("before", name, experiment.repeat)));
  const first = tests.map((name) => testResult(name, runsOf("now", name, experiment.repeat)));
  const doubtful = doubtfulTests(first, { tests: before, skipped: new Set() });
  const now = first.map(({ name, results }) =>
    testResult(name, [
      ...results,
      ...(doubtful.has(name) ? runsOf("now", name, confirm, true) : []),
    ]),
  );
  const earlier = { tests: before, isInterleaved: false, history: [], skipped: new Set<string>() };
  const compared = compareSuites(now, earlier, { level: LEVEL, confirm });
  return {
    passes: Object.fromEntries(
      now.map(({ name, passes }, index) => [name, [before[index]?.passes ?? 0, passes]]),
    ),
    ...named(compared.tests),
    isWorse: compared.isWorse,
  };
}

/** How often a test is asked again that misses what it passed. */
const CONFIRM = 5;

/** The verdicts that are claims. */
const named = (tests: readonly { readonly name: string; readonly verdict: string }[]) => {
  const withVerdict = (verdict: string) =>
    tests.filter((test) => test.verdict === verdict).map(({ name }) => name);
  return { broken: withVerdict("broken"), fixed: withVerdict("fixed") };
};

interface Printed {
  readonly tests: readonly {
    readonly test: string;
    readonly passes: number;
    readonly verdict: string;
  }[];
  readonly comparison: { readonly isWorse: boolean };
}

/** Runs the suite with `wf test run` against a sandbox with this seed, and again with the baseline. */
export async function playedSuite(
  experiment: Experiment,
  seed: number,
): Promise<SeedResult & { readonly exit: number; readonly err: string }> {
  const folder = await temporaryDirectory();
  const suite = join(folder, "suite.yaml");
  const tests = testsOf(experiment).map(({ name }) => ({ name, query: name }));
  await writeFile(suite, JSON.stringify({ defaults: { expect: ['text is "right"'] }, tests }));
  const sandbox = await startSandbox({
    clock: fastClock(50),
    directory: null,
    seed,
    applications: applications(experiment),
  });
  const env = {
    KB_BASE_URL: `${sandbox.origin}/v1`,
    KB_PROFILE: "sandbox",
    KB_SANDBOX_APP_KEYS: JSON.stringify(sandbox.appKeys),
  };
  const run = (app: string, ...flags: readonly string[]) => {
    const line = ["wf", "--app", app, "test", "run", suite, "-q", "-o", "json"];
    const repeat = ["--repeat", String(experiment.repeat), "--concurrency", "8"];
    return cli([...line, ...repeat, ...flags], { env, folder });
  };
  try {
    const saved = join(folder, "before.json");
    await run("before", "--save", saved);
    const before = JSON.parse(await readFile(saved, "utf8")) as Printed;
    const { exit, out, err } = await run(
      "now",
      "--baseline",
      saved,
      "--level",
      String(LEVEL),
      "--confirm",
      String(experiment.confirm ?? CONFIRM),
    );
    const now = JSON.parse(out) as Printed;
    return {
      passes: Object.fromEntries(
        now.tests.map(({ test, passes }, index) => [
          test,
          [before.tests[index]?.passes ?? 0, passes],
        ]),
      ),
      ...named(now.tests.map(({ test: name, ...each }) => ({ ...each, name }))),
      isWorse: now.comparison.isWorse,
      exit,
      err,
    };
  } finally {
    await sandbox.stop();
  }
}
