import type { ConditionField, Scope } from "../../conditions/index.ts";

/** The kinds of problems, with the figure of --fail-if that counts each. */
export const problemFigures = {
  error: "errors",
  stuck: "stuck",
  paused: "paused",
  empty: "empty",
  "no chunks": "without_chunks",
  duplicate: "duplicates",
  "unindexed chunks": "unindexed_chunks",
  model: "models",
  search: "searches",
  sync: "sync",
  "not checked": "unchecked",
} as const;

export type Problem = keyof typeof problemFigures;

/** ProblemCounts of conditions: `problems` counts all but `not checked`. */
export const problemFigureNames = ["problems", ...Object.values(problemFigures)] as const;

export type ProblemCounts = Readonly<Record<(typeof problemFigureNames)[number], number>>;

/** Counts problems by figure. */
export function countProblems(found: Iterable<Problem>): ProblemCounts {
  const figures = Object.fromEntries(problemFigureNames.map((name) => [name, 0])) as Record<
    (typeof problemFigureNames)[number],
    number
  >;
  for (const problem of found) {
    figures[problemFigures[problem]]++;
    if (problem !== "not checked") figures.problems++;
  }
  return figures;
}

const field = (name: keyof ProblemCounts): ConditionField<ProblemCounts> => ({
  kind: "number",
  read: ({ [name]: value }) => ({ value, actual: `${name} is ${value}` }),
});

/** What conditions of --fail-if can be about. */
export const problemScope: Scope<ProblemCounts> = {
  fields: Object.fromEntries(problemFigureNames.map((name) => [name, field(name)])),
};
