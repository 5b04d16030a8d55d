import type { ConditionField, FieldKind, Scope } from "../../conditions/index.ts";

/** Figures about runs and their kinds, in display order. */
export const figureKinds = {
  runs: "number",
  running: "number",
  paused: "number",
  ended: "number",
  succeeded: "share",
  partial: "share",
  failed: "share",
  stopped: "share",
  failed_runs: "number",
  p50: "seconds",
  p95: "seconds",
  p99: "seconds",
  max: "seconds",
  tokens: "number",
  tokens_p50: "number",
  tokens_p95: "number",
  steps: "number",
} as const satisfies Readonly<Record<string, FieldKind>>;

export type FigureName = keyof typeof figureKinds;

export const figureNames = Object.keys(figureKinds) as FigureName[]; // the keys of a constant

/** Fields by which runs can be grouped. */
export const groupings = ["version", "user"] as const;

export type Grouping = (typeof groupings)[number];

/** Calendar periods by which runs can be grouped. */
export const units = ["hour", "day", "month"] as const;

export type Unit = (typeof units)[number];

/** The displayed unit of a figure; empty for numbers. */
export const unitOf = (figure: FigureName): "" | "%" | "s" =>
  ({ number: "", share: "%", seconds: "s" } as const)[figureKinds[figure]];

/** A figure without its unit: seconds to the millisecond, shares in percent. */
export function formatAmount(figure: FigureName, value: number | null): string | number | null {
  if (value === null || figureKinds[figure] === "number") return value;
  return figureKinds[figure] === "seconds" ? value.toFixed(3) : (value * 100).toFixed(2);
}

/** A figure with its unit: `25.300 s`, `4.17 %`. */
export const formatFigure = (figure: FigureName, value: number): string =>
  `${formatAmount(figure, value)} ${unitOf(figure)}`.trimEnd();

/** A share from 0 to 1 for a line of text: `89.5 %`, `100 %`. */
export const formatPercent = (share: number): string =>
  `${(share * 100).toFixed(1).replace(/\.0$/, "")} %`;

/**
 * The change of a figure: `+12.5 %`, or `+0.40 points` for shares; null if it is unknown or if there
 * was nothing in either period.
 */
export function formatChange(
  figure: FigureName,
  value: number | null,
  before: number | null,
): string | null {
  if (value === null || before === null || (value === 0 && before === 0)) return null;
  const change = value - before;
  if (figureKinds[figure] === "share") return `${signed(change * 100, 2)} points`;
  if (change === 0) return "0.0 %";
  return before === 0 ? null : `${signed((change / before) * 100, 1)} %`;
}

const signed = (value: number, digits: number): string => {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? "-" : "+"}${text}`;
};

type Figures = Readonly<Record<FigureName, number | null>>;

const field = (name: FigureName): ConditionField<Figures> => ({
  kind: figureKinds[name],
  read({ [name]: value }) {
    if (value === null)
      return { value: undefined, missing: "unknown", actual: `no data for ${name}` };
    return { value, actual: `${name} is ${formatFigure(name, value)}` };
  },
});

/** What conditions of --fail-if can be about: the figures. */
export const figureScope: Scope<Figures> = {
  fields: Object.fromEntries(figureNames.map((name) => [name, field(name)])),
};
