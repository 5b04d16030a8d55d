import type { TestRun } from "./answers/index.ts";
import type { Baseline } from "./baseline.ts";
import { secondLookRuns } from "./gate/index.ts";
import type { GateInput, GateRules, GateRun, KnownRuns, TestNow } from "./gate/index.ts";
import { isJudged, questionsOf } from "./runs/index.ts";
import type { TestResult } from "./runs/index.ts";
import type { Passes } from "../../../lib/statistics/pass-rates.ts";

/** Of the tests of now, what the gate needs beside their results. */
export interface Compared {
  readonly tests: readonly TestResult[];
  readonly baseline: Baseline;
  /** Names of tests that were not to be run. */
  readonly skipped: ReadonlySet<string>;
  readonly rules: GateRules;
}

/** The results of tests, the baseline and its history as the gate takes them. */
export function gateInput({ tests, baseline, skipped, rules }: Compared): GateInput {
  const now = tests.map((test) => ({ ...testNow(test), question: questionOf(test) }));
  return { ...knownRuns(baseline, now), now, skipped, second: secondLook(tests), rules };
}

/** A run as the gate takes it; none if it was not carried out. */
const gateRuns = (runs: readonly TestRun[]): GateRun[] =>
  runs.flatMap(({ status, answer, tokens, annotated }) =>
    status === "not run"
      ? []
      : [{ status, answer: answer ?? "", byModel: !annotated && (tokens ?? 0) > 0 }],
  );

const isPlanned = ({ confirms }: TestRun): boolean => !confirms;

const contentIn = ({ results }: TestResult): string | null => results[0]?.content ?? null;

const testNow = (test: TestResult): TestNow => {
  const { name, results } = test;
  const { rate, stated } = results[0]?.pass ?? {};
  return {
    name,
    content: contentIn(test) ?? "",
    planned: gateRuns(results.filter(isPlanned)),
    fresh: gateRuns(results.filter((run) => run.confirms && !run.second_look)),
    rate: stated ? rate : undefined,
  };
};

/** A test of now, by which those of earlier versions are told. */
interface AskedTest extends Pick<TestNow, "name" | "content"> {
  /** Empty if it is not known. */
  readonly question: string;
}

/** The baseline, and its history of the same server and applications, as the gate takes them. */
export function knownRuns(baseline: Baseline, now: readonly AskedTest[]): KnownRuns {
  const contentOf = knownContents(now);
  const apps = new Map(baseline.tests.map(({ name, results }) => [name, results[0]?.app]));
  return {
    before: baseline.tests.map((test) => ({
      name: test.name,
      content: contentIn(test) ?? contentOf(test),
      runs: gateRuns(test.results.filter(isPlanned)),
    })),
    baselineAt: baseline.at?.toISOString() ?? "",
    history: baseline.history
      .filter(({ selection: { server } }) => server === baseline.selection.server)
      .filter(({ sha256 }) => sha256 !== baseline.sha256)
      .map(({ at, alarmed, tests }) => ({
        at: at.toISOString(),
        alarmed,
        tests: new Map(
          tests
            .filter(({ name, results: [run] }) => run?.app === apps.get(name))
            .map((test) => {
              const { name, passes, runs } = test;
              return [name, { content: contentIn(test) ?? "", passes, runs }];
            }),
        ),
      })),
  };
}

/** What a test of an earlier version asks and expects is that of the test of its name, or else of its question. */
function knownContents(now: readonly AskedTest[]) {
  const byName = new Map(now.map((test) => [test.name, test]));
  const byQuestion = new Map(now.map(({ question, content }) => [question, content]));
  /** Empty if another question was asked, as far as that is stored. */
  return (before: TestResult): string => {
    const [same, question] = [byName.get(before.name), questionOf(before)];
    const isSame = same && (question === "" || question === same.question);
    return (isSame ? same.content : question && byQuestion.get(question)) ?? "";
  };
}

/** What a test asks; empty if that is not stored. */
function questionOf({ results }: TestResult): string {
  const turns = results.find((run) => run.turns.length > 0)?.turns ?? [];
  return turns.length === 0 ? "" : questionsOf(turns);
}

/** Fresh runs of a test in a second look at the suite. */
const looksOf = ({ results }: TestResult): number =>
  secondLookRuns(results.filter(isPlanned).length);

/** How many more fresh runs each test needs for a second look, by its name; those that could not be judged count. */
export const missingLooks = (tests: readonly TestResult[]): ReadonlyMap<string, number> =>
  new Map(
    tests
      .filter(({ runs }) => runs > 0)
      .map((test): [string, number] => {
        const asked = test.results.filter((run) => run.confirms && run.status !== "not run");
        return [test.name, looksOf(test) - asked.length];
      })
      .filter(([, missing]) => missing > 0),
  );

/** The second look: the first fresh runs of each test; undefined unless all were asked so often. */
function secondLook(tests: readonly TestResult[]): ReadonlyMap<string, Passes> | undefined {
  if (missingLooks(tests).size > 0) return undefined;
  return new Map(
    tests.flatMap((test) => {
      const again = test.results.filter((run) => run.confirms && isJudged(run));
      const runs = again.slice(0, looksOf(test));
      const passes = runs.filter(({ status }) => status === "passed").length;
      return runs.length > 0 ? [[test.name, { passes, runs: runs.length }] as const] : [];
    }),
  );
}
