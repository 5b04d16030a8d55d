import { usage } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { left, literal, right } from "../../../output/report-model.ts";
import type { Cell, Report, Tone } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import type { testFlakyParams } from "./command.ts";
import { isJudged } from "./runs/index.ts";
import { historyOf } from "./saved-results.ts";
import type { DatedResults } from "./saved-results.ts";
import { intervalText, passRate } from "../../../lib/statistics/pass-rates.ts";

/** Reports which tests of a history are flaky. Throws `usage` if it has no results. */
export async function* run(
  { history: directory }: Input<typeof testFlakyParams>,
  context: Context,
): AsyncGenerator<Report> {
  const found: ReturnType<typeof observations>[] = [];
  const times: Date[] = [];
  for await (const results of historyOf(directory, context)) {
    found.push(observations(results));
    times.push(results.at);
  }
  if (times.length === 0)
    throw usage(
      `${directory} has no results of --history`,
      `add some with ${commandLine("wf test run", ["FILE"], { history: directory })}`,
    );
  const tests = testHistories(found.flat());
  yield flakyReport(tests.toSorted(byConcern), { directory, times });
}

/** The most urgent verdict first; of one verdict, the test that changed most often. */
const byConcern = (one: TestHistory, other: TestHistory): number =>
  verdicts.indexOf(one.verdict) - verdicts.indexOf(other.verdict) ||
  other.switches - one.switches ||
  (one.rate?.rate ?? 0) - (other.rate?.rate ?? 0);

const tones: Readonly<Record<FlakyVerdict["verdict"], Tone>> = {
  flaky: "warn",
  unclear: "warn",
  broken: "bad",
  failing: "bad",
  fixed: "good",
  passing: "good",
};

const dateOf = (time: string | null): Cell => (time === null ? null : new Date(time));

function flakyReport(
  tests: readonly TestHistory[],
  { directory, times }: { readonly directory: string; readonly times: readonly Date[] },
): Report {
  const flaky = tests.filter(({ verdict }) => verdict === "flaky").length;
  const sorted = times.toSorted((one, other) => one.getTime() - other.getTime());
  const [first, last] = [sorted[0], sorted.at(-1)].map((at) => at?.toISOString() ?? null);
  return {
    data: { wf_flaky: 1, directory, results: times.length, first, last, tests },
    title: "Flaky tests",
    sections: [
      {
        title: `${flaky} of ${counted(tests.length, "test")} flaky in ${counted(times.length, "result")}`,
        columns: [
          left("verdict"),
          literal("test"),
          right("passes"),
          { ...right("95 %"), minor: true },
          left("last results"),
          left("last failure"),
          { ...left("since"), minor: true },
        ],
        rows: tests.map((test): Cell[] => [
          { text: test.verdict, tone: tones[test.verdict] },
          test.name,
          `${test.passes}/${test.runs}`,
          test.rate && intervalText(test.rate),
          test.last,
          dateOf(test.last_failure),
          dateOf(test.since),
        ]),
        notes: ["P passed, F failed; the newest result is the last one"],
      },
    ],
  };
}

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

/** A run of a test that was judged. */
export interface Observation {
  /** When the results were written that have it; those of one command have the same time. */
  readonly at: Date;
  /** The content of its suite, and the application and server: only what has the same is compared. */
  readonly version: string;
  readonly passed: boolean;
}

/**
 * What the runs of a test say about it, in the order of concern: `flaky` passes and fails by itself;
 * `unclear` failed for a time or passed for a time, which a flaky test does, too, and one that was
 * broken and repaired; `broken` and `fixed` changed once; `failing` and `passing` never did.
 */
export const verdicts = ["flaky", "unclear", "broken", "failing", "fixed", "passing"] as const;

/** A verdict: since when a test is broken or fixed, and how often the result changed from one run to the next. */
interface FlakyVerdict {
  readonly verdict: (typeof verdicts)[number];
  readonly since: Date | null;
  readonly switches: number;
}

/** Changes of the result that two changes of the application do not explain. */
const MIN_SWITCHES = 3;

/**
 * Judges the runs of a test in the order of time. Runs of different versions of the suite say nothing
 * about each other: it is flaky if one version shows it, otherwise the last version decides.
 */
export function verdictOf(runs: readonly [Observation, ...Observation[]]): FlakyVerdict {
  const versions = [...groupBy(runs, ({ version }) => version).values()].map(ofVersion);
  const last = runs.filter(({ version }) => version === runs.at(-1)?.version);
  return versions.find(({ verdict }) => verdict === "flaky") ?? ofVersion(last);
}

function ofVersion(runs: readonly Observation[]): FlakyVerdict {
  const changed = runs.filter(
    ({ passed }, index) => index > 0 && passed !== runs[index - 1]?.passed,
  );
  const byCommand = groupBy(runs, ({ at }) => at.getTime());
  const isMixed = [...byCommand.values()].some(
    (results) => new Set(results.map(({ passed }) => passed)).size > 1,
  );
  const switches = changed.length;
  if (isMixed || switches >= MIN_SWITCHES) return { verdict: "flaky", since: null, switches };
  const passes = runs.at(-1)?.passed === true;
  if (switches > 1) return { verdict: "unclear", since: null, switches };
  const since = changed[0]?.at ?? null;
  if (since) return { verdict: passes ? "fixed" : "broken", since, switches };
  return { verdict: passes ? "passing" : "failing", since, switches };
}
