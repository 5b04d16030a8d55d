import { figureNames } from "../stats-fields.ts";
import type { StatsFigures } from "./figures.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import type { Summary } from "./summary.ts";

/**
 * The JSON of `wf stats`: times are Unix seconds, durations seconds, shares from 0 to 1; values without
 * data are null.
 */
export const statsData = (
  summary: Summary,
  results: readonly ConditionResult[],
  file: string | undefined,
  complete: boolean,
) => ({
  file: file ?? null,
  since: summary.span?.since ?? null,
  until: summary.span?.until ?? null,
  complete,
  figures: withNulls(summary.figures),
  statuses: Object.fromEntries(summary.statuses),
  before: summary.before
    ? {
        ...summary.before.span,
        figures: withNulls(summary.before.figures),
        statuses: Object.fromEntries(summary.before.statuses),
        change: changes(summary.figures, summary.before.figures),
      }
    : null,
  conditions: results,
  periods: {
    unit: summary.unit,
    time_zone: summary.timeZone,
    rows: summary.periods.map(({ start, label, figures: { runs, failed_runs, p95, tokens } }) => ({
      start,
      label,
      runs,
      failed_runs,
      p95: p95 ?? null,
      tokens: tokens ?? null,
    })),
  },
  errors: {
    groups: summary.errors.groups.map(({ error, runs, lastSeen, example }) => ({
      error,
      runs,
      last_seen: lastSeen ?? null,
      example_run: example ?? null,
    })),
    others: summary.errors.others,
  },
  by: Object.fromEntries(
    summary.groups.map(({ by, rows, others }) => [
      by,
      {
        groups: rows.map(({ name, figures }) => ({ [by]: name || null, ...withNulls(figures) })),
        others,
      },
    ]),
  ),
});

const withNulls = (figures: StatsFigures) =>
  Object.fromEntries(figureNames.map((name) => [name, figures[name] ?? null]));

/** The differences of figures known in both periods. */
const changes = (figures: StatsFigures, before: StatsFigures) =>
  Object.fromEntries(
    figureNames.map((name) => {
      const [now, then] = [figures[name], before[name]];
      const both = now !== undefined && then !== undefined;
      return [name, both ? Number((now - then).toFixed(6)) : null];
    }),
  );
