import type { HttpResponse } from "../api/client.ts";
import type { EventBatches } from "../api/sse.ts";
import type { ConcurrencyLimiter } from "../api/concurrency-limit.ts";
import type { PageCounter, RowLimit } from "../api/pages.ts";
import type { HttpRequest } from "../api/request.ts";
import type { TimeWindow } from "../api/time-windows.ts";
import type { TargetFlags } from "../config/settings.ts";
import type { CliError, FailureKind } from "../errors.ts";
import type { Host } from "../host/host.ts";
import type {
  ResponseOf,
  AnyOperation,
  Input,
  InputOf,
  Noun,
  Params,
  Returns,
  RowOf,
} from "../operations/operation.ts";

/** What may be said for one call beside its input. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Replaces the row's repeats, e.g. 0 inside a loop that repeats by itself. */
  readonly retries?: number;
}

/** How a list is read by windows of time. */
export interface WindowOptions extends CallOptions {
  /** Unix second at which the list ends; the server's clock when absent. */
  readonly last?: number | undefined;
}

/** Rows that were asked for. */
export interface RequestedRows extends RowLimit {
  /** Was nothing said about it? */
  readonly byDefault: boolean;
}

/** Sends a request that no row describes; the URL is a path below the base URL. */
export type Raw = (
  request: HttpRequest,
  kind: "dataset" | "app",
  options: {
    readonly headers?: Readonly<Record<string, string>>;
    /** Instead of what the settings say; without a key, where it has none. */
    readonly target?: { readonly baseUrl: string; readonly key?: string | undefined };
  },
) => Promise<HttpResponse>;

/** Cells of csv and tsv that a spreadsheet would run as formulas. */
export interface Formulas {
  /** The text of a cell, with an apostrophe before a formula; without --safe-cells it is noted. */
  cell(text: string): string;
  /** Says once, when all is written, that formulas were written as they are. */
  warn(): Promise<void>;
}

/** What a task works with: the server, typed by the table, and the world. */
export interface Context {
  readonly host: Host;
  /** Sends one request and gives the answer (the rows of one page for lists). Throws CliError. */
  call<O extends AnyOperation>(
    row: O,
    input: InputOf<O>,
    options?: CallOptions,
  ): Promise<ResponseOf<O>>;
  /** Every row of a list, page after page, each once. */
  each<O extends AnyOperation>(row: O, input: InputOf<O>): AsyncIterable<RowOf<O["returns"]>>;
  /** Rows of a list, as many as wanted; `progress` is kept up to date. */
  rows<O extends AnyOperation>(
    row: O,
    input: InputOf<O>,
    wanted: RowLimit,
    progress?: PageCounter,
  ): AsyncIterable<RowOf<O["returns"]>>;
  /** All rows of a list by windows of time, newest first; only for lists that can be read so. */
  windows<O extends AnyOperation>(
    row: O,
    input: InputOf<O>,
    options?: WindowOptions,
  ): AsyncIterable<TimeWindow<RowOf<O["returns"]>>>;
  /** Opens an event stream; the iterator ends when the server closes it, and throws when it is cut. */
  open<O extends AnyOperation>(
    row: O,
    input: InputOf<O>,
    options?: CallOptions,
  ): Promise<EventBatches>;
  readonly raw: Raw;
  /** So many requests at a time; each time one has to wait before its repeat, one lane is closed. */
  limitConcurrency(most: number): ConcurrencyLimiter;
  /** Address of the API, with its path and no slash at its end. */
  baseUrl(): Promise<string>;
  /** The id of a thing that is named, as positionals are resolved. Throws not-found and refused. */
  resolveId(noun: Noun, text: string): Promise<string>;
  /** The same command with the settings of another profile. */
  withProfile(profile: string): Context;
  /** One line on standard error; silent with --quiet. */
  notice(text: string): Promise<void>;
  readonly formulas: Formulas;
  /** Says how far a long command is, where and as often as it is good to see; silent with --quiet. */
  progress(step: {
    readonly done: number;
    /** Absent where the length is not known. */
    readonly total?: number | undefined;
    /** What is counted: `documents`. */
    readonly unit: string;
    readonly note?: string | undefined;
  }): void;
  /** One line on standard error with -v (1), -vv (2) or -vvv (3). */
  trace(level: 1 | 2 | 3, text: string): Promise<void>;
  /** Asks before something is destroyed; throws when the answer is no or nobody can be asked. */
  confirm(question: string): Promise<void>;
  /** What the line asked for, as far as tasks may care. */
  readonly options: {
    /** Writes are shown instead of sent: the first one ends the command. */
    readonly dryRun: boolean;
    /** Output format, undefined where none was named; `json` with --jq. */
    readonly format: string | undefined;
    /** What --all, --limit and --page say about a list. */
    readonly rows: RequestedRows;
    /** The same where the line itself names it, not the settings behind it. */
    readonly typed: string | undefined;
    /** What makes output wait for the last row, if anything does. */
    readonly gathers: string | undefined;
    /** Does a terminal show what is printed, as it comes? */
    readonly terminal: boolean;
    /** Does --timeout say when to give up? */
    readonly deadline: boolean;
    /** May questions be asked? */
    readonly input: boolean;
    /** IANA name of the zone in which people are shown times. */
    timeZone(): string;
    /** `kb` or `wf`. */
    readonly program: string;
    readonly flags: TargetFlags;
  };
  /** Aborted by an interrupt or when --timeout has passed. */
  readonly signal: AbortSignal;
  /** The error for an aborted `signal`. */
  abortError(): CliError;
}

/** A command that needs more than one request, or none. What it yields is printed as `returns` says. */
export interface Task<P extends Params = Params> {
  readonly command: string;
  readonly summary: string;
  /** What it does, as in a row; that of the row it wraps by default. */
  readonly action?: string;
  /** Longer text of the help page, after the summary. */
  readonly about?: string;
  /** Which key it takes; absent for commands that talk to no server. */
  readonly key?: "dataset" | "app";
  /** Sends requests all the same, with whatever key fits. */
  readonly sendsRequests?: true;
  /** With --dry-run it yields what it would do; others end with the first write, shown. */
  readonly plans?: true;
  /** Writes files, so it works to its end when nobody reads what it prints; so do all that write. */
  readonly runsToEnd?: true;
  /** Reads a list as far as `asked.rows` says, so it takes --limit, --all and --page. */
  readonly pages?: true;
  /** May ask before something is destroyed, so it takes --yes. */
  readonly confirms?: true;
  readonly params: P;
  readonly returns: Returns<never>;
  /** What it yields instead, where flags or the output format change that. */
  output?(input: Input<P>, format: string | undefined): Returns<never> | undefined;
  /** The operations it may send. */
  readonly sends: readonly AnyOperation[];
  /** The one row it stands for: `help --json` and the reference show method and path. */
  readonly wraps?: AnyOperation;
  /** Reads only, writes, or destroys (asks before). */
  readonly effect: "reads" | "writes" | "destroys";
  readonly examples: readonly string[];
  /** Exit codes it can give beside those of every request. */
  readonly exits?: readonly FailureKind[];
  /** Brings the code when the command is used. */
  readonly load: () => Promise<{
    /** Yields what is printed; a promise where nothing is. */
    run(input: Input<P>, context: Context): AsyncIterable<unknown> | Promise<void>;
  }>;
}

/** Declares a task; only the types happen here. */
export const task = <const P extends Params>(spec: Task<P>): Task<P> => spec;
