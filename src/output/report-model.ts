import type { TextFormat } from "../operations/operation.ts";

/**
 * A report: tables for humans plus the same data as JSON. Charts are shown beside their numbers, never
 * instead of them.
 */
export interface Report {
  /** What `-o json` and `-o yaml` print. */
  readonly data: unknown;
  /** Title of the page of `-o html` (default: what the command does). */
  readonly title?: string;
  readonly sections: readonly Section[];
  /** What a terminal shows instead of the sections (default: these), unless `-o wide` is given. */
  readonly screen?: readonly Section[];
  /** What `-o html` shows instead of the sections, made when it is printed. */
  readonly page?: () => ReportPage | Promise<ReportPage>;
  /** What a terminal shows below the `LiveItems` that came before the report. */
  readonly ending?: readonly Section[];
  /**
   * What `-o md` prints instead of the sections, cut to the 65,536 characters of a comment on a pull
   * request.
   */
  readonly brief?: readonly Section[];
  /** Its text in each format of another program that the command names. */
  readonly texts?: Readonly<Partial<Record<TextFormat, () => string | Promise<string>>>>;
  /** The command has taken over the terminal: the report replaces the one before it. */
  readonly isFrame?: true;
}

/** The content of a page, from the top. */
export interface ReportPage {
  /** What the report is about, such as the application and the server; null if unknown. */
  readonly facts?: Readonly<Record<string, string | null>>;
  /** The figures that matter. */
  readonly tiles?: readonly Tile[];
  readonly plots?: readonly Plot[];
  readonly sections: readonly Section[];
}

/** A figure with its name. */
export interface Tile {
  readonly label: string;
  readonly value: string;
  readonly tone?: Tone | undefined;
  readonly note?: string | undefined;
}

/** A chart with axes: stacked bars or lines over points of time. A table has the same values. */
export interface Plot {
  readonly title: string;
  readonly kind: "bars" | "lines";
  readonly points: readonly (string | Date)[];
  /** One value a point, at least 0; null if unknown. */
  readonly series: readonly {
    readonly label: string;
    readonly values: readonly (number | null)[];
    readonly tone?: Tone;
  }[];
  /** A value as text, for the axis. */
  readonly format: (value: number) => string;
  /** The end of the axis (default: above the largest value). */
  readonly max?: number;
}

/**
 * What a command yields on the way to its report: the items that it works on, results that `-o jsonl`
 * prints instead of the report, and the report itself.
 */
export type ReportStep = LiveItems | ReportRow | Report;

/** A result that is ready before the report is; its place among the others is final. */
export interface ReportRow {
  readonly row: unknown;
}

/**
 * Items of work that takes long, such as tests. A terminal shows the running ones at its bottom, and above
 * them, once and for good, those that have ended.
 */
export interface LiveItems {
  running(): readonly LiveItem[];
  /** Those that ended since the last call, in the order of their ends. */
  takeEnded(): readonly LiveItem[];
  progress(): ProgressStep;
}

/** How far a long command is. */
export interface ProgressStep {
  readonly done: number;
  /** Undefined if the total is unknown. */
  readonly total?: number | undefined;
  /** The counted items: `documents`. */
  readonly unit: string;
  /** What they cost, of which the time left is computed (default: each the same). */
  readonly work?: { readonly done: number; readonly total: number };
  /** What is done to them: `Indexing` (default: the verb of the command). */
  readonly verb?: string;
  /** Items that failed; they count as done. */
  readonly failed?: number | undefined;
  /** A further count: `12 of 40 chunks`. */
  readonly note?: string | undefined;
  /** The item that was done last. */
  readonly current?: string | undefined;
}

/** One of them: a line, and further ones once it has ended. */
export interface LiveItem {
  /** `running`, or how it ended. */
  readonly state: string;
  readonly seconds: number | null;
  readonly name: string;
  /** Before the name: `3/20`. */
  readonly note?: string | undefined;
  readonly lines?: readonly TextLine[];
}

/** One table of a report. */
export interface Section {
  readonly title?: string;
  /** Text above the table, in grids only. */
  readonly lines?: readonly TextLine[];
  /** Two texts below the lines, in grids only: side by side if there is room. */
  readonly comparison?: TextComparison;
  readonly columns: readonly Heading[];
  readonly rows: readonly (readonly Cell[])[];
  /** Notes below the table. */
  readonly notes?: readonly string[];
  /** How its figures are made and what they prove: of these notes a terminal shows one line, unless it is `-o wide`. */
  readonly footnotes?: readonly string[];
  /** In a brief and on a page: the rows are hidden until a reader opens them. */
  readonly folded?: boolean;
  /**
   * What `-o html` shows of a row when it is unfolded, by the index of the row; empty for a row that does
   * not unfold. Called for pages only, so it costs other formats nothing.
   */
  readonly details?: (row: number) => readonly Detail[];
  /** What the rows of a page can be filtered by. */
  readonly marks?: (row: number) => RowMarks;
}

/** By what a row is found, each with one or more words; a row with a `state` is one to look at first. */
export type RowMarks = Readonly<Partial<Record<"state" | "tag" | "suite", readonly string[]>>>;

/** One block of the details of a row: a text or any JSON value, which is cut if it is long, a table, or two texts. */
export type Detail =
  | { readonly label: string; readonly value: unknown; readonly tone?: Tone }
  | { readonly label: string; readonly comparison: TextComparison }
  | ({ readonly label: string } & Pick<Section, "columns" | "rows">);

/** A section of text alone. */
export const noTable = { columns: [], rows: [] } as const satisfies Section;

/** Two texts, and what only one of them has. */
export interface TextComparison {
  readonly titles: readonly [first: string, second: string];
  /** In order; `in` says which of the texts has a part. */
  readonly parts: readonly { readonly text: string; readonly in: "both" | "first" | "second" }[];
}

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
  /** In a brief: texts from outside, which are no Markdown. */
  readonly literal?: boolean;
  /** Labels of the scale above spans, from its start to its end at equal distances; for `-o html`. */
  readonly ticks?: readonly string[];
}

export const left = (label: string): Heading => ({ label });
export const literal = (label: string): Heading => ({ label, literal: true });
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

/** Whether a cell is drawn. */
export const isChart = (cell: Cell): cell is Chart =>
  typeof cell === "object" && cell !== null && "chart" in cell;

/** The value of a cell without its color; a chart has none. */
export function plainCell(cell: Cell): Exclude<Cell, Toned | Chart> {
  if (typeof cell !== "object" || cell === null || cell instanceof Date) return cell;
  return "text" in cell ? cell.text : null;
}
