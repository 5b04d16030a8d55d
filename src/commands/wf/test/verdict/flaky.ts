import { groupBy } from "../../../../lib/collect.ts";

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

/** A verdict with what it rests on. */
export interface FlakyVerdict {
  readonly verdict: (typeof verdicts)[number];
  /** Since when a test is broken or fixed. */
  readonly since: Date | null;
  /** How often the result changed from one run to the next. */
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
