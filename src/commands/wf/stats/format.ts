import { figureKinds } from "../stats-fields.ts";
import type { FigureName } from "../stats-fields.ts";

/** Unit of a figure as it is shown; empty for numbers. */
export const unitOf = (figure: FigureName): "" | "%" | "s" =>
  ({ number: "", share: "%", seconds: "s" } as const)[figureKinds[figure]];

/** A figure without its unit: seconds to the millisecond, shares in percent. */
export function formatAmount(
  figure: FigureName,
  value: number | undefined,
): string | number | null {
  if (value === undefined) return null;
  const kind = figureKinds[figure];
  return kind === "seconds"
    ? value.toFixed(3)
    : kind === "share"
      ? (value * 100).toFixed(2)
      : value;
}

/** A figure with its unit: `25.300 s`, `4.17 %`. */
export const amount = (figure: FigureName, value: number): string =>
  `${formatAmount(figure, value)} ${unitOf(figure)}`.trimEnd();

/** How far a figure moved: `+12.5 %` of what it was, for shares `+0.40 points`; null where nothing tells. */
export function formatChange(
  figure: FigureName,
  value: number | undefined,
  before: number | undefined,
): string | null {
  if (value === undefined || before === undefined) return null;
  const by = value - before;
  if (figureKinds[figure] === "share") return `${signed(by * 100, 2)} points`;
  if (by === 0) return "0.0 %";
  return before === 0 ? null : `${signed((by / before) * 100, 1)} %`;
}

const signed = (value: number, digits: number): string => {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? "-" : "+"}${text}`;
};
