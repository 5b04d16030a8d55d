import { sum } from "../../../lib/numbers.ts";
import type { FigureName } from "./command.ts";
import type { StatsData } from "./data.ts";

/** Figures with a trend, and how to merge the values of several periods. */
const trends = {
  runs: sum,
  failed_runs: sum,
  p95: (values: readonly number[]) => Math.max(...values),
  tokens: sum,
};

/** Number of points of a trend in a line of text. */
const LINE_POINTS = 8;

/** The trend of a figure over the periods; undefined without at least two values. */
export function trendOf(
  name: FigureName,
  periods: StatsData["periods"]["rows"],
  points = LINE_POINTS,
): readonly (number | null)[] | undefined {
  if (!(name in trends)) return undefined;
  const drawn = name as keyof typeof trends;
  const values = periods.map((row) => row[drawn]);
  const trend = mergedPoints(values, trends[drawn], points);
  return trend.filter((value) => value !== null).length < 2 ? undefined : trend;
}

/** The points of a trend, each merged from equally many periods; null without data. */
function mergedPoints(
  values: readonly (number | null)[],
  merge: (values: readonly number[]) => number,
  points: number,
): (number | null)[] {
  const size = Math.max(1, Math.ceil(values.length / points));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => {
    const known = values.slice(index * size, (index + 1) * size).filter((value) => value !== null);
    return known.length === 0 ? null : merge(known);
  });
}
