import { groupBy } from "../../../lib/collect.ts";
import type { Context } from "../../task/command-spec.ts";
import type { PlannedRun } from "./plan-runs.ts";
import { questionsIn, questionsOf } from "./run-tests.ts";
import type { TestRun } from "./answers/index.ts";
import { readSavedResults } from "./saved-results.ts";
import { judgedAgain } from "./score.ts";

/** Takes the answers of an earlier run instead of asking, each at most once. */
export interface Reuse {
  /** The run as its suite judges it now; undefined if it must be asked. Throws as checks do. */
  take(run: PlannedRun): Promise<TestRun | undefined>;
  /** How many answers were taken. */
  readonly taken: number;
}

/** Reads the results whose answers are taken: those of the same server and application to the same questions. */
export async function openReuse(file: string, context: Context): Promise<Reuse> {
  const { tests, selection } = await readSavedResults("--reuse ", file, context.host);
  const isHere = selection.server === (await context.api.baseUrl());
  const all = isHere ? tests.flatMap(({ results }) => results) : [];
  const stored = groupBy(all, ({ app, turns }) => `${app} ${questionsOf(turns)}`);
  let taken = 0;
  return {
    async take({ suite, test, repeat, asker, checkAnswer }) {
      const own = `${asker.app} ${questionsIn(test)}`;
      const next = test.turns.length > 0 ? stored.get(own)?.shift() : undefined;
      if (!next) return undefined;
      const run = await judgedAgain({ stored: next, suite, test, checkAnswer });
      if (run.error !== null || run.status === "not run") return undefined;
      taken++;
      return { ...run, repeat, side: "new", confirms: false };
    },
    get taken() {
      return taken;
    },
  };
}
