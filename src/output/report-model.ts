/**
 * A report: tables for humans plus the same data as JSON. Charts are shown beside their numbers, never
 * instead of them.
 */
export interface Report {
  /** What `-o json` and `-o yaml` print. */
  readonly data: unknown;
  readonly sections: readonly Section[];
  /** What a terminal shows instead of the sections (default: these), unless `-o wide` is given. */
  readonly screen?: readonly Section[];
  /** The command has taken over the terminal: the report replaces the one before it. */
  readonly isFrame?: true;
  /** The report as a picture, for `-o svg`; defined if the command `returns: drawnReport`. */
  readonly svg?: () => string;
}

/** One table of a report. */
export interface Section {
  readonly title?: string;
  /** Text above the table, in grids only. */
  readonly lines?: readonly TextLine[];
  readonly columns: readonly Heading[];
  readonly rows: readonly (readonly Cell[])[];
  /** Notes below the table. */
  readonly notes?: readonly string[];
}

/** A section of text alone. */
export const noTable = { columns: [], rows: [] } as const satisfies Section;

/** A line of text that wraps where the terminal ends. Further lines are indented by the lead. */
export interface TextLine {
  readonly lead?: string;
  readonly parts: readonly TextPart[];
}

/** A part of a line of text, and the trend of its number, which is drawn if the line has room. */
export interface TextPart {
  readonly text: string;
  readonly tone?: Tone | undefined;
  readonly trend?: readonly (number | null)[] | undefined;
}

/** Head of a column; numbers are aligned right. */
export interface Heading {
  readonly label: string;
  readonly right?: boolean;
  /** Dropped first on a narrow terminal. */
  readonly minor?: boolean;
}

export const left = (label: string): Heading => ({ label });
export const right = (label: string): Heading => ({ label, right: true });

/** A cell of a table; `null` is printed as nothing. */
export type Cell = string | number | boolean | Date | null | Toned | Chart;

/** Text in a color; its words have the same meaning without it. */
export interface Toned {
  readonly text: string;
  readonly tone: Tone;
}

export type Tone = "good" | "bad" | "warn" | "dim";

/** Drawn in grids only; omitted from tables that are data (tsv, csv, md). */
export type Chart =
  /** A share of the whole, 0 to 1. */
  | { readonly chart: "bar"; readonly value: number; readonly tone?: Tone }
  /** A line of values over time, from 0 to the largest of them; null if unknown. */
  | { readonly chart: "spark"; readonly values: readonly (number | null)[] }
  /** A part of the whole width, from and to as shares of it, 0 to 1. */
  | {
      readonly chart: "span";
      readonly from: number;
      readonly to: number;
      readonly tone?: Tone;
    };
