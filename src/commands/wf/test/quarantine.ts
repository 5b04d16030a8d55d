import type { Quarantine } from "./file/index.ts";
import type { TestResult } from "./results.ts";
import type { TestRun } from "./run-tests.ts";

/** Tests that do not decide, and what a report says about those in quarantine. */
interface Quarantined {
  /** Their names in results. */
  readonly excused: ReadonlySet<string>;
  readonly notes: readonly string[];
}

const isOpen = ({ until }: Quarantine, now: Date): boolean =>
  now.toISOString().slice(0, until.length) <= until;

/** Whether a run does not decide at a time. */
export const isExcused = ({ quarantine }: TestRun, now: Date): boolean =>
  quarantine !== null && isOpen(quarantine, now);

/** Which tests that did not pass are in quarantine at a time; a note names them, and those whose quarantine has ended. */
export function quarantined(tests: readonly TestResult[], now: Date): Quarantined {
  const all = tests.flatMap(({ name, status, results }) => {
    const found = results[0]?.quarantine;
    return found && (status === "failed" || status === "error") ? [{ name, ...found }] : [];
  });
  return {
    excused: new Set(all.filter((test) => isOpen(test, now)).map(({ name }) => name)),
    notes: all.map((test) => {
      const why = test.reason === null ? "" : ` (${test.reason})`;
      return isOpen(test, now)
        ? `in quarantine until ${test.until}, so it does not count: ${test.name}${why}`
        : `the quarantine ended on ${test.until}, so it counts: ${test.name}${why}`;
    }),
  };
}
