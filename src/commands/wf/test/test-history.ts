import { groupBy } from "../../../lib/collect.ts";
import type { DatedResults } from "./history.ts";
import { isJudged } from "./results.ts";
import { passRate, verdictOf } from "./verdict/index.ts";
import type { Observation } from "./verdict/index.ts";

/** The runs of a file that were judged, with the names of their tests; answers of --reuse are those of other runs. */
export function observations({
  at,
  selection,
  tests,
}: Pick<DatedResults, "at" | "selection" | "tests">) {
  const versions = new Map(selection.suites.map(({ name, sha256 }) => [name, sha256]));
  return tests.flatMap(({ name, suite, results }) =>
    results
      .filter((run) => isJudged(run) && !run.reused)
      .map(({ status, app }) => {
        const version = JSON.stringify([versions.get(suite), selection.server, app]);
        return { name, at, version, passed: status === "passed" };
      }),
  );
}

/** Results that a line shows, the last ones. */
const MAX_SHOWN = 20;

/** A test over all of its runs; times are in ISO 8601. */
function testHistory(name: string, runs: readonly [Observation, ...Observation[]]) {
  const passes = runs.filter(({ passed }) => passed).length;
  const shown = runs.slice(-MAX_SHOWN).map(({ passed }) => (passed ? "P" : "F"));
  const { verdict, since, switches } = verdictOf(runs);
  return {
    name,
    verdict,
    since: since?.toISOString() ?? null,
    switches,
    runs: runs.length,
    passes,
    rate: passRate(passes, runs.length),
    last_failure: runs.findLast(({ passed }) => !passed)?.at.toISOString() ?? null,
    /** The last results, oldest first: P passed, F failed. */
    last: shown.join(""),
  };
}

/** A test over all of its runs. */
export type TestHistory = ReturnType<typeof testHistory>;

/** The tests of a history, in the order in which they were first run. */
export function testHistories(found: ReturnType<typeof observations>): TestHistory[] {
  const inOrder = found.toSorted((one, other) => one.at.getTime() - other.at.getTime());
  return [...groupBy(inOrder, ({ name }) => name)].flatMap(([name, [first, ...others]]) =>
    first ? [testHistory(name, [first, ...others])] : [],
  );
}
