import { figureNames } from "../stats-fields.ts";
import type { StatsFigures } from "./figures.ts";
import type { ConditionResult } from "./gate.ts";
import type { Summary } from "./summary.ts";

/**
 * What `wf stats -o json` prints: times are Unix seconds, durations seconds, shares from 0 to 1; null
 * stands where nothing was measured.
 */
export const statsData = (
  summed: Summary,
  judged: readonly ConditionResult[],
  file: string | undefined,
  complete: boolean,
) => ({
  file: file ?? null,
  since: summed.span?.since ?? null,
  until: summed.span?.until ?? null,
  complete,
  figures: known(summed.figures),
  statuses: Object.fromEntries(summed.statuses),
  before: summed.before
    ? {
        ...summed.before.span,
        figures: known(summed.before.figures),
        statuses: Object.fromEntries(summed.before.statuses),
        change: changes(summed.figures, summed.before.figures),
      }
    : null,
  conditions: judged.map((each) => ({ ...each, value: each.value ?? null })),
  periods: {
    unit: summed.unit,
    time_zone: summed.timeZone,
    rows: summed.periods.map(({ start, label, figures: { runs, failed_runs, p95, tokens } }) => ({
      start,
      label,
      runs,
      failed_runs,
      p95: p95 ?? null,
      tokens: tokens ?? null,
    })),
  },
  errors: {
    groups: summed.errors.groups.map(({ error, runs, lastSeen, example }) => ({
      error,
      runs,
      last_seen: lastSeen ?? null,
      example_run: example ?? null,
    })),
    others: summed.errors.others,
  },
  by: Object.fromEntries(
    summed.groups.map(({ by, rows, others }) => [
      by,
      {
        groups: rows.map(({ name, figures }) => ({ [by]: name || null, ...known(figures) })),
        others,
      },
    ]),
  ),
});

const known = (figures: StatsFigures) =>
  Object.fromEntries(figureNames.map((name) => [name, figures[name] ?? null]));

/** Differences of figures that both times have. */
const changes = (figures: StatsFigures, before: StatsFigures) =>
  Object.fromEntries(
    figureNames.map((name) => {
      const [now, then] = [figures[name], before[name]];
      const both = now !== undefined && then !== undefined;
      return [name, both ? Number((now - then).toFixed(6)) : null];
    }),
  );
