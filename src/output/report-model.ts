/**
 * Figures for people, as tables one below the other, with the same figures for programs. Charts
 * stand beside the numbers they draw, never in their place.
 */
export interface Report {
  /** What `-o json` and `-o yaml` print. */
  readonly data: unknown;
  readonly sections: readonly Section[];
  /** The same as a picture, for `-o svg`; there where the command `returns: drawnReport`. */
  readonly svg?: () => string;
}

/** One table of a report. */
export interface Section {
  readonly title?: string;
  readonly columns: readonly Heading[];
  readonly rows: readonly (readonly Cell[])[];
  /** Sentences below the table. */
  readonly notes?: readonly string[];
}

/** Head of a column; numbers stand at the right. */
export interface Heading {
  readonly label: string;
  readonly right?: boolean;
}

/** What a place of a table holds; `null` prints as nothing. */
export type Cell = string | number | boolean | Date | null | Toned | Chart;

/** Text that colour makes easier to find; its words say the same without colour. */
export interface Toned {
  readonly text: string;
  readonly tone: Tone;
}

export type Tone = "good" | "bad" | "warn" | "dim";

/** Drawn on a terminal and in plain text; left out where tables are data (tsv, csv, md). */
export type Chart =
  /** A share of the whole, 0 to 1. */
  | { readonly chart: "bar"; readonly value: number; readonly tone?: Tone }
  /** A line of values over time, from 0 to the largest of them; null where nothing is known. */
  | { readonly chart: "spark"; readonly values: readonly (number | null)[] }
  /** A stretch of the whole width, from and to as shares of it, 0 to 1. */
  | {
      readonly chart: "span";
      readonly from: number;
      readonly to: number;
      readonly tone?: Tone;
    };
