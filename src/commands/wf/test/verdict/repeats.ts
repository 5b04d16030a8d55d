import { groupBy } from "../../../../lib/collect.ts";
import type { Passes } from "./statistics.ts";

/** A run of a test, as far as it counts for a comparison. */
export interface CountedRun {
  readonly status: string;
  readonly answer: string | null;
  /** Null if no model was used, or that is unknown. */
  readonly tokens: number | null;
  /** Whether the test was asked again because it had failed. */
  readonly confirms: boolean;
  /** Whether an annotation reply answered it, which answers alike each time. */
  readonly annotated: boolean;
}

/** How often a test passed, where repeats that tell nothing new do not count. */
export interface CountedRepeats {
  /** In the runs that were planned. */
  readonly planned: Passes;
  /** In those that were asked again because one had failed. */
  readonly fresh: Passes;
  /** Whether runs with the same answer were counted once. */
  readonly isReduced: boolean;
}

/** Characters of an answer from which on a model that is asked twice hardly gives the same one. */
const MIN_LENGTH = 40;

/**
 * Whether a cache may have answered the repeats of these tests: models were used, long answers came again byte for
 * byte, and no question that was asked twice got two different answers. One that did rules a cache out.
 */
export function mayBeCached(tests: readonly (readonly CountedRun[])[]): boolean {
  const repeated = tests
    .map((runs) => runs.filter(isModelAnswer).map(({ answer }) => answer ?? ""))
    .filter((answers) => answers.length > 1);
  const isLong = (answers: readonly string[]) =>
    answers.some((answer) => answer.length >= MIN_LENGTH);
  return repeated.some(isLong) && repeated.every((answers) => new Set(answers).size === 1);
}

const isJudged = ({ status }: CountedRun): boolean => status === "passed" || status === "failed";

const isModelAnswer = (run: CountedRun): boolean =>
  isJudged(run) && run.answer !== null && (run.tokens ?? 0) > 0;

/**
 * Counts the runs of a test. Runs with the same answer, byte for byte, count as one where an annotation reply or
 * a cache can be the cause, and as no fresh one if a planned run had that answer already.
 */
export function countRepeats(runs: readonly CountedRun[], isCached: boolean): CountedRepeats {
  const judged = runs.filter(isJudged);
  const planned = judged.filter(({ confirms }) => !confirms);
  const fresh = judged.filter(({ confirms }) => confirms);
  const isAlike = (run: CountedRun) =>
    run.annotated || (isCached && isModelAnswer(run) && (run.answer ?? "").length >= MIN_LENGTH);
  const known = new Set(planned.filter(isAlike).map(({ answer }) => answer));
  const once = (all: readonly CountedRun[]) => [
    ...all.filter((run) => !isAlike(run)),
    ...[...groupBy(all.filter(isAlike), ({ answer }) => answer).values()].flatMap(
      (same) => same.find(({ status }) => status === "failed") ?? same.slice(0, 1),
    ),
  ];
  const counted = once(planned);
  const countedFresh = once(fresh).filter((run) => !isAlike(run) || !known.has(run.answer));
  return {
    planned: passesOf(counted),
    fresh: passesOf(countedFresh),
    isReduced: counted.length + countedFresh.length < judged.length,
  };
}

const passesOf = (runs: readonly CountedRun[]): Passes => ({
  passes: runs.filter(({ status }) => status === "passed").length,
  runs: runs.length,
});
