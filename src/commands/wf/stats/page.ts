import { formatSeconds, groupDigits } from "../../../lib/numbers.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Plot, ReportPage, Section, Tile } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { knownApplication } from "../app/index.ts";
import { figureKinds, figureNames } from "./command.ts";
import type { FigureName } from "./command.ts";
import { formatChange, formatFigure, formatPercent } from "./data.ts";
import type { StatsData } from "./data.ts";
import { beforeCells, sectionsOf, titleOf, withoutEmpty } from "./tables.ts";

/** The page of `wf stats`. Runs of the server are named with their application, if it tells its name. */
export async function statsPage(
  data: StatsData,
  notes: readonly string[],
  context: Context,
): Promise<ReportPage> {
  const { conditions, status, periods, errors, by } = sectionsOf(withoutEmpty(data));
  const asked = data.file === null ? await knownApplication(context) : undefined;
  return {
    facts: {
      application: asked?.name || null,
      server: asked?.base_url ?? null,
      file: data.file,
      time: titleOf(data).replace(/^Runs (from )?/, "") || null,
    },
    tiles: tilesOf(data),
    plots: plotsOf(data.periods),
    sections: [
      ...conditions,
      ...errors,
      ...by,
      { ...status, notes: [...notes, ...nodesNote] },
      ...[figuresOf(data), ...periods].map((section) => ({ ...section, folded: true })),
    ],
  };
}

/** Server §12. */
const nodesNote = ["The log has no nodes: the timeline of a run shows which one was slow."];

function tilesOf({ figures, before }: StatsData): Tile[] {
  const { runs, failed, failed_runs, running, paused } = figures;
  const tile = (name: FigureName, value: string | null, tone?: Tile["tone"]): Tile[] => {
    if (value === null) return [];
    const change = before && formatChange(name, figures[name], before.figures[name]);
    const label = name.replace("_", " ");
    return [{ label, value, tone, note: change ? `${change} since before` : undefined }];
  };
  const seconds = (value: number | null) => value && formatSeconds(value);
  const calm = figures.partial ? "warn" : "good";
  const tone = failed_runs > 0 ? "bad" : calm;
  const share = failed === null ? "" : ` (${formatPercent(failed)})`;
  return [
    ...tile("runs", groupDigits(runs)),
    ...tile("failed_runs", `${groupDigits(failed_runs)}${share}`, tone),
    ...tile("p50", seconds(figures.p50) || null),
    ...tile("p95", seconds(figures.p95) || null),
    ...tile("tokens", figures.tokens === null ? null : groupDigits(figures.tokens)),
    ...(running > 0 ? tile("running", groupDigits(running)) : []),
    ...(paused > 0 ? tile("paused", groupDigits(paused), "warn") : []),
  ];
}

/** Runs and their times over the periods; no line of a single point. */
function plotsOf({ unit, rows }: StatsData["periods"]): Plot[] {
  if (rows.length < 2) return [];
  const points = rows.map(({ start, label }) => (unit === "hour" ? new Date(start * 1000) : label));
  const hasTrend = rows.filter(({ p50 }) => p50 !== null).length > 1;
  const plots: Plot[] = [
    {
      title: `Runs per ${unit}`,
      kind: "bars",
      points,
      series: [
        { label: "not failed", values: rows.map(({ runs, failed_runs }) => runs - failed_runs) },
        { label: "failed", values: rows.map(({ failed_runs }) => failed_runs) },
      ],
      format: groupDigits,
    },
    {
      title: `Time of a run per ${unit}`,
      kind: "lines",
      points,
      series: [
        { label: "p50", values: rows.map(({ p50 }) => p50) },
        { label: "p95", values: rows.map(({ p95 }) => p95) },
      ],
      format: (seconds) => (seconds === 0 ? "0" : formatSeconds(seconds)),
    },
  ];
  return hasTrend ? plots : plots.slice(0, 1);
}

/** All figures with their units, and those of the time before. */
function figuresOf(data: StatsData): Section {
  const text = (name: FigureName, value: number | null): Cell =>
    value === null || figureKinds[name] === "number" ? value : formatFigure(name, value);
  return {
    title: "Figures",
    columns: [
      left("figure"),
      right("value"),
      ...(data.before ? [right("before"), right("change")] : []),
    ],
    rows: figureNames.map((name): Cell[] => [
      name.replace("_", " "),
      text(name, data.figures[name]),
      ...beforeCells(data, name, text),
    ]),
  };
}
