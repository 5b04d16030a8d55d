import { sha256 } from "../../../lib/sha256.ts";
import type { Shard } from "../../shard.ts";
import type { Context } from "../../command-spec.ts";
import { openAsker, openChecker } from "../suite-answers/index.ts";
import type { AnswerChecker, Asker } from "../suite-answers/index.ts";
import type { Suite, SuiteTest } from "../suite-file/index.ts";

/** One run of a test to do. */
export interface PlannedRun {
  readonly suite: Suite;
  readonly test: SuiteTest;
  /** Number of the repeat, from 1. */
  readonly repeat: number;
  readonly asker: Asker;
  readonly checker: AnswerChecker;
}

/** Which tests results belong to: shards of the same selection can be merged. */
export interface TestSelection {
  readonly suites: readonly { readonly name: string; readonly sha256: string }[];
  /** Tags of `--only`. */
  readonly only: readonly string[];
  readonly repeat: number;
  /** Base URL. */
  readonly server: string;
  readonly shard: Shard | null;
}

/** Suites with those of their tests that are run. */
export interface SelectedSuites {
  readonly suites: readonly Suite[];
  readonly selection: TestSelection;
  /** Number of tests that `skip`, `only` or a tag leaves out, in all shards. */
  readonly skipped: number;
}

/** The name of a test in results: unique among all suites. */
export const testNameOf = (run: { readonly suite: string; readonly test: string }): string =>
  `${run.suite}: ${run.test}`;

/** Selects the tests to run, and of these the share of a shard: every so many, in the order of the suites. */
export function selectTests(
  all: readonly Suite[],
  { only, repeat, server, shard }: Omit<TestSelection, "suites">,
): SelectedSuites {
  let [index, skipped] = [0, 0];
  const suites = all.map((suite) => {
    const selected = selectedTests(suite, only);
    skipped += suite.tests.length - selected.length;
    const tests = selected.filter(
      () => shard === null || index++ % shard.count === shard.index - 1,
    );
    return { ...suite, tests };
  });
  const files = all.map(({ name, text }) => ({ name, sha256: sha256(text) }));
  return { suites, skipped, selection: { suites: files, only, repeat, server, shard } };
}

/** With `only` in a suite, those tests; otherwise all but skipped ones. */
function selectedTests(suite: Suite, tags: readonly string[]): readonly SuiteTest[] {
  const tagged = suite.tests.filter(
    (test) => tags.length === 0 || test.tags.some((tag) => tags.includes(tag)),
  );
  const hasOnly = tagged.some(({ only }) => only);
  return tagged.filter(({ only, skip }) => !skip && (only || !hasOnly));
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
    const asker = await openAsker(suite, context);
    const checker = await openChecker(suite, context);
    for (const test of suite.tests)
      for (let index = 1; index <= (test.repeat ?? repeat); index++)
        planned.push({ suite, test, repeat: index, asker, checker });
  }
  return planned;
}
