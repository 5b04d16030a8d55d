import { fewerInAll, fisherFewer } from "../../../../lib/statistics/exact-tests.ts";
import type { Tail } from "../../../../lib/statistics/exact-tests.ts";
import { correctedTails } from "../../../../lib/statistics/multiple-tests.ts";
import { rateOf, totalPasses } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import type { GateRules, TestVerdict } from "./gate.ts";

/** Passes of a test of two applications that were asked in turn. */
export interface AskedPair {
  readonly name: string;
  readonly before: Passes;
  readonly now: Passes;
  /** When it was asked again: that of before, and that of now. */
  readonly freshBefore: Passes;
  readonly fresh: Passes;
}

/** Whether a test is asked again: it misses now what it passed before. */
export const isDoubtful = ({ before, now }: Pick<AskedPair, "before" | "now">): boolean =>
  now.passes < now.runs && before.passes > 0;

/**
 * Compares the passes of two applications that were asked in turn, so that both had the same good and bad minutes. Where
 * they are alike, anything is called worse or broken at most as often as the level says: half of it is for the suite as
 * a whole, half for single tests, of which only fresh runs of the new side count. What is called fixed has half the
 * level for itself.
 */
export function judgePairs(pairs: readonly AskedPair[], rules: GateRules) {
  const half = rules.level / 2;
  const p = fewerInAll(pairs);
  const worse = correctedAmong(pairs.map((pair) => worseTail(pair, rules.confirm)));
  const better = correctedTails(pairs.map(({ before, now }) => fisherFewer(now, before)));
  return {
    suite: {
      verdict: p <= half ? ("worse" as const) : ("no decline" as const),
      p,
      limit: half,
      before: totalPasses(pairs.map(({ before }) => before)),
      now: totalPasses(pairs.map(({ now }) => now)),
    },
    /** In the order given; `p` is corrected for the number of tests, null if the test was not tested. */
    tests: pairs.map((pair, index) => {
      const { name, before, freshBefore, now, fresh } = pair;
      const own = worse[index] ?? null;
      const verdict = verdictOf(pair, own, better[index] ?? 1, rules);
      const asked = { before: totalPasses([before, freshBefore]), now, fresh };
      return { name, verdict, ...asked, p: own, limit: half };
    }),
  };
}

/** The exact test of a doubtful test; undefined if it was not asked again. */
function worseTail(pair: AskedPair, confirm: number): Tail | undefined {
  const { before, freshBefore } = pair;
  const decisive = confirm > 0 ? pair.fresh : pair.now;
  if (!isDoubtful(pair) || decisive.runs === 0) return undefined;
  return fisherFewer(totalPasses([before, freshBefore]), decisive);
}

function verdictOf(
  pair: AskedPair,
  p: number | null,
  pFixed: number,
  { level, confirm }: GateRules,
): TestVerdict["verdict"] {
  const { before, now, fresh } = pair;
  const half = level / 2;
  if (isDoubtful(pair)) {
    if (p !== null && p <= half) return "broken";
    if (fresh.runs > 0 && fresh.passes === fresh.runs) return "passed again";
    // As the gate of a baseline: near the limit, dead, or not asked often enough.
    const isDead = before.passes === before.runs && now.passes + fresh.passes === 0;
    return (p !== null && p <= 2 * half) || isDead || fresh.runs < confirm
      ? "inconclusive"
      : "varies";
  }
  if (pFixed <= half) return "fixed";
  if (now.passes === 0 && rateOf(before) === 0) return "fails as before";
  return now.passes === now.runs ? "passes" : "varies";
}

/** The p-values of those that were tested, corrected for their number; null for the others. */
function correctedAmong(tails: readonly (Tail | undefined)[]): (number | null)[] {
  const corrected = correctedTails(tails.filter((tail) => tail !== undefined));
  return tails.map((tail) => (tail ? (corrected.shift() ?? null) : null));
}
