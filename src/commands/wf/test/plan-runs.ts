import { usage } from "../../../errors.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { Shard } from "../../task/shard.ts";
import type { Context } from "../../task/command-spec.ts";
import { openAsker, openChecker, openSearches } from "./answers/index.ts";
import type { CheckAnswer, Asker, Searches } from "./answers/index.ts";
import type { Suite, SuiteBudget, SuiteTest } from "./file/index.ts";

/** One run of a test to do. */
export interface PlannedRun {
  readonly suite: Suite;
  readonly test: SuiteTest;
  /** Number of the repeat, from 1. */
  readonly repeat: number;
  readonly asker: Asker;
  readonly checkAnswer: CheckAnswer;
  readonly searches: Searches;
}

/** Which tests results belong to: shards of the same selection can be merged. */
export interface TestSelection {
  readonly suites: readonly {
    readonly name: string;
    readonly sha256: string;
    readonly budget?: SuiteBudget | undefined;
  }[];
  /** Words of `--only`. */
  readonly only: readonly string[];
  /** File of `--failed-from`. */
  readonly failed_from: string | null;
  readonly repeat: number;
  /** Base URL. */
  readonly server: string;
  readonly shard: Shard | null;
}

/** The name of a test that is not run, and of its suite. */
export interface SkippedTest {
  readonly suite: string;
  readonly test: string;
}

/** Suites with those of their tests that are run. */
export interface SelectedSuites {
  readonly suites: readonly Suite[];
  readonly selection: TestSelection;
  /** Tests that `skip`, `only` or the command line leaves out, in all shards. */
  readonly skipped: readonly SkippedTest[];
}

/** The name of a test in results: unique among all suites. */
export const testNameOf = (run: { readonly suite: string; readonly test: string }): string =>
  `${run.suite}: ${run.test}`;

/**
 * Selects the tests to run, and of these the share of a shard: every so many, in the order of the suites.
 * Throws `usage` for a word of --only that no test has.
 */
export function selectTests(
  all: readonly Suite[],
  choice: Omit<TestSelection, "suites">,
  failed?: ReadonlySet<string>,
): SelectedSuites {
  const { only, shard } = choice;
  const chosen =
    only.length > 0 ? new Set(only.flatMap((word) => namedTests(word, all))) : undefined;
  const skipped: SkippedTest[] = [];
  let index = 0;
  const suites = all.map((suite) => {
    const nameOf = ({ name: test }: SuiteTest) => ({ suite: suite.name, test });
    const isMeant = (test: SuiteTest) =>
      chosen?.has(test) !== false && failed?.has(testNameOf(nameOf(test))) !== false;
    const selected = selectedTests(suite.tests.filter(isMeant));
    skipped.push(...suite.tests.filter((test) => !selected.includes(test)).map(nameOf));
    const tests = selected.filter(
      () => shard === null || index++ % shard.count === shard.index - 1,
    );
    return { ...suite, tests };
  });
  const files = all.map(({ name, text, budget }) => ({ name, sha256: sha256(text), budget }));
  return { suites, skipped, selection: { suites: files, ...choice } };
}

/** The tests with this tag; if none has it, those with this part of a name, in which `*` is any text. */
function namedTests(word: string, suites: readonly Suite[]): SuiteTest[] {
  const all = suites.flatMap(({ name: suite, tests }) =>
    tests.map((test) => ({ test, name: testNameOf({ suite, test: test.name }) })),
  );
  const tagged = all.filter(({ test }) => test.tags.includes(word));
  const parts = word.toLowerCase().split("*");
  const isNamed = (name: string) => {
    let at = 0;
    return parts.every((part) => {
      const found = name.indexOf(part, at);
      at = found + part.length;
      return found >= 0;
    });
  };
  const found = tagged.length > 0 ? tagged : all.filter(({ name }) => isNamed(name.toLowerCase()));
  if (found.length > 0) return found.map(({ test }) => test);
  const near = didYouMean(
    word,
    all.flatMap(({ test }) => [...test.tags, test.name]),
  );
  throw usage(
    `--only: no test has the tag or name ${JSON.stringify(word)}`,
    near === undefined ? undefined : `did you mean ${JSON.stringify(near)}?`,
  );
}

/** With `only` in a suite, those tests; otherwise all but skipped ones. */
function selectedTests(tests: readonly SuiteTest[]): readonly SuiteTest[] {
  const hasOnly = tests.some(({ only }) => only);
  return tests.filter(({ only, skip }) => !skip && (only || !hasOnly));
}

/** The runs of the selected tests, each repeat after the other. Throws what keeps all from being asked. */
export async function planRuns(
  suites: readonly Suite[],
  repeat: number,
  context: Context,
): Promise<PlannedRun[]> {
  const planned: PlannedRun[] = [];
  for (const suite of suites) {
    if (suite.tests.length === 0) continue;
    const searches = await openSearches(suite, context);
    const asker = await openAsker(suite, context);
    const checkAnswer = await openChecker(suite, context);
    for (const test of suite.tests)
      for (let index = 1; index <= (test.repeat ?? repeat); index++)
        planned.push({ suite, test, repeat: index, asker, checkAnswer, searches });
  }
  return planned;
}
