import type { ApiClient } from "../../api/client.ts";
import type { PageCounter, RowLimit } from "../../api/pages.ts";
import type { TargetFlags } from "../../config/settings.ts";
import { CliError } from "../../errors.ts";
import type { FailureKind } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { appRows, knowledgeRows } from "../../operations/index.ts";
import { list, onTerminal } from "../../operations/operation.ts";
import type {
  Effect,
  AnyOperation,
  Input,
  ListedNoun,
  Noun,
  Params,
  Returns,
} from "../../operations/operation.ts";
import type { ProgressStep } from "../../output/report-model.ts";
import type { CommandRunner } from "./command-runner.ts";

/** The rows requested by --all, --limit and --page. */
export interface RequestedRows extends RowLimit {
  /** None of these flags is given. */
  readonly byDefault: boolean;
  /** In another order than the server's, all rows are read, and these of them are shown. */
  readonly shown?: Pick<RowLimit, "limit" | "page">;
}

/** How a prompt before a delete is answered. */
export interface ConfirmOptions {
  /** Text that must be typed to continue, instead of `y`. */
  readonly type?: string | undefined;
  /** The error after any other reply (default: `nothing was deleted`). */
  readonly declined?: string;
  /** Backs up what is deleted, which the prompt offers. */
  readonly backUp?: () => Promise<void>;
}

/** Shared flags as given, for tasks whose behavior depends on them. */
export interface TaskFlags extends TargetFlags {
  readonly concurrency?: string | undefined;
  /** --timeout or KB_TIMEOUT, in ms. */
  readonly timeout?: number | undefined;
  /** The applications of --app, if the task takes several. */
  readonly apps?: readonly string[] | undefined;
  readonly safeCells?: boolean | undefined;
  /** Back up before and after the command, and where. */
  readonly backup?: boolean | undefined;
  readonly backupDir?: string | undefined;
  /** Directories of --allow-files. */
  readonly allowFiles: readonly string[];
}

/** Settings that replace those of the command line. */
interface OtherSettings {
  /** With it, server and application are those of this profile. */
  readonly profile?: string | undefined;
  readonly app?: string | undefined;
  readonly user?: string | undefined;
  /** The kind of key. */
  readonly key?: "dataset" | "app";
}

/** What a task works with: the client of the API, the host, and options. */
export interface Context {
  readonly host: Host;
  /** Calls operations of the table. */
  readonly api: ApiClient;
  /** Resolves a name, an ID or its beginning to an ID, like a positional. Throws not-found and refused. */
  resolveId(noun: Noun | ListedNoun, text: string): Promise<string>;
  /** How long the events of runs are remembered on this machine, in ms; 0 for not at all. */
  rememberRuns(): Promise<number>;
  /** The name that was entered for an ID; the ID itself if none was. */
  enteredName(id: string): string;
  /** The same context with other settings, such as the knowledge key in a command of `wf`. */
  with(settings: OtherSettings): Context;
  /** Prints a line to stderr unless --quiet is set. */
  notice(text: string): Promise<void>;
  /** Prints a line that belongs to a prompt to stderr. */
  promptLine(text: string): Promise<void>;
  /** The same after the output, for a line about all of it. */
  summary(text: string): void;
  /** Does work once the whole output is printed, such as deleting the journal of what it reports. */
  afterOutput(work: () => Promise<void>): void;
  /** Reports the progress of a long command unless --quiet is set. */
  progress(step: ProgressStep): void;
  /** Prints a line to stderr with -v (1), -vv (2) or -vvv (3). */
  trace(level: 1 | 2 | 3, text: string): Promise<void>;
  /** Prompts before a delete; throws when declined or when no prompt is possible. */
  confirm(question: string, options?: ConfirmOptions): Promise<void>;
  /** Shared flags that tasks need. */
  readonly options: {
    /** Writes are printed instead of sent; the first one ends the command. */
    readonly dryRun: boolean;
    /** Output format of flags or settings; `json` with --jq. */
    readonly format: string | undefined;
    /** The rows requested by --all, --limit and --page. */
    readonly rows: RequestedRows;
    /** Output format of flags only. */
    readonly typed: string | undefined;
    /** Why output waits for the last row, if it does. */
    readonly gathers: string | undefined;
    /** Is the output shown on a terminal? */
    readonly terminal: boolean;
    /** Is it shown on a terminal that may be redrawn, in the default format? */
    readonly redraws: boolean;
    /** Are prompts possible? */
    readonly input: boolean;
    /** IANA name of the time zone of displayed times. */
    timeZone(): string;
    /** A time as tables show it, with its zone: `2026-11-21 14:03 UTC`. */
    timeText(date: Date): string;
    /** `kb` or `wf`. */
    readonly program: string;
    readonly flags: TaskFlags;
  };
  /** Waits; throws `abortError` if the signal of the host is aborted first, by an interrupt or by --timeout. */
  pause(ms: number): Promise<void>;
  /** The error for an aborted signal of the host. */
  abortError(): CliError;
}

/** What some tasks need of the engine besides. */
export interface EngineTools {
  /** Requested columns that are named values of the rows, such as metadata; the task checks them. */
  readonly valueColumns: readonly string[];
  /** Runs other commands of the program; throws inside such a run. */
  commands(): CommandRunner<Context>;
}

/** What a command leaves behind when it has ended. */
export interface Ending {
  /** What a terminal is told after a write, in place of the words of the command. */
  readonly success?: string | undefined;
  /** Counts the rows of the list that it printed. */
  readonly counter?: PageCounter;
}

/**
 * What a task does with the rows of `--each`: `check` is called for all of them before anything is
 * sent, and returns what `send` needs for one, or undefined if there is nothing to do. `send` returns
 * the ID of the changed object; after a kill it may be called again for a row that was sent.
 */
export interface RowWork<I, C> {
  /** Is checking a row without effect, so that it is checked again when it is sent instead of being held? */
  readonly checksAgain?: true;
  /** `cells` are those of columns that are no arguments. Throws what is wrong with the row. */
  check(input: I, cells: Readonly<Record<string, unknown>>): Promise<C | undefined>;
  send(checked: C): Promise<string>;
}

/** A command with several requests, or none. It yields the values that `returns` describes. */
export interface TaskSpec<P extends Params = Params> {
  readonly command: string;
  /** The flag with which the command above it is this one: `kb sync --config FILE` is `kb sync run`. */
  readonly chosenBy?: `--${string}`;
  readonly summary: string;
  /** Words of other programs for its last word, at most two, as in a row. */
  readonly meant?: readonly string[];
  /** Hints for flags that it had, or that other programs have. */
  readonly instead?: Readonly<Record<`--${string}`, string>>;
  /** What it does, as in a row (default: that of the wrapped row). */
  readonly action?: string;
  /** Longer text of the help page, after the summary. */
  readonly about?: string;
  /** Sends requests with either kind of key: which ones, for help. */
  readonly sendsRequests?: string;
  /** With --dry-run it yields a plan; other tasks end at their first write. */
  readonly plans?: true;
  /** Writes files, so like every write it runs to the end even if stdout is closed. */
  readonly runsToEnd?: true;
  /** Runs until it is stopped and runs other commands, each of which --timeout limits. */
  readonly serves?: true;
  /** Reads a list, so it takes --limit, --all and --page. */
  readonly pages?: true;
  /** Runs once per row of a file, so it takes --each; its rows can be sent again after a kill. */
  readonly each?: {
    /** Columns may have other names than the arguments. */
    readonly columns?: "any";
  };
  /** Reads files that a file names, so it takes --allow-files. */
  readonly namesFiles?: true;
  /** Sends many requests at a time, so it takes --concurrency. */
  readonly parallel?: true;
  /** Works on several applications, so --app can be repeated. */
  readonly manyApps?: true;
  /** Can prompt before a delete, so it takes --yes. */
  readonly confirms?: true;
  /** Needs no file of this machine and no terminal, so `mcp` offers it; `without` these parameters. */
  readonly tool?: { readonly without?: readonly string[] };
  readonly params: P;
  /** What it yields (default: as the wrapped row, or any JSON values). */
  readonly returns?: Returns<never>;
  /** Overrides `returns` depending on flags or the output format. */
  output?(input: Input<P>, format: string | undefined): Returns<never> | undefined;
  /** The operations it can send, beside the row it wraps; without one, the first decides the key. */
  readonly sends?: readonly AnyOperation[];
  /** The row it wraps: help shows its method and path. */
  readonly wraps?: AnyOperation;
  /** Reads only, writes, or destroys (prompts before). */
  readonly effect: Effect;
  readonly examples: readonly string[];
  /** Exit codes besides those of every request. */
  readonly exits?: readonly FailureKind[];
}

/** What commands share that plan their changes, ask before they make them, and make the others if some fail. */
export const changesByPlan = {
  effect: "writes",
  plans: true,
  confirms: true,
  exits: ["partial"],
} as const;

/** The code of a task. */
export interface TaskCode<P extends Params = Params> {
  /** Yields the output; a promise if there is none. */
  run(
    input: Input<P>,
    context: Context,
    engine: EngineTools,
  ): AsyncGenerator<unknown, Ending | void> | Promise<void>;
  /** What it does with the rows of --each. */
  rowWork?(context: Context): RowWork<Input<P>, unknown>;
}

/** A task with its code, which is loaded on use. */
export interface Task<P extends Params = Params> extends TaskSpec<P> {
  readonly load: () => Promise<TaskCode<P>>;
}

/** Declares a task: infers its types. */
export const task = <const P extends Params>(spec: TaskSpec<P>): TaskSpec<P> => spec;

/** What became of a row of --each, or of one of several items. */
export type RowEnd = "ok" | "failed" | "unknown" | "skipped" | "not sent";

/** Outcome of one of several items. */
export interface ItemOutcome {
  /** As given. */
  readonly name: string;
  readonly status: RowEnd;
  readonly id: string | null;
  readonly error: string | null;
}

/** Output of a command over several items. */
export const itemOutcomes = onTerminal(
  { form: "results", outcome: "status", name: "name", reason: "error", routine: ["ok"] },
  list<ItemOutcome>("", "name status error id:id"),
);

/** A part of a program: its commands, and the words that they begin with after `kb` or `wf`. */
export interface Feature {
  readonly words: string;
  load(): Promise<readonly (AnyOperation | Task)[]>;
}

type CodeOf<M> = {
  readonly [Name in keyof M as M[Name] extends TaskSpec<infer _> ? Name : never]: () => Promise<
    M[Name] extends TaskSpec<infer P extends Params> ? TaskCode<P> : never
  >;
};

/**
 * The tasks that a module declares, with the code of each. A start loads the declarations of one word,
 * and the code of one command: code takes the types of its parameters from the declaration, not the reverse.
 */
export const tasks = <M extends object>(
  words: string,
  declarations: () => Promise<M>,
  code: CodeOf<M>,
): Feature => ({
  words,
  async load() {
    const specs = (await declarations()) as Readonly<Record<string, TaskSpec>>;
    const loads = Object.entries(code) as [string, Task["load"]][];
    return loads.map(([name, load]) => ({ ...specs[name], load }) as Task);
  },
});

type Table = typeof knowledgeRows & typeof appRows;

/** Rows that are commands: a module that is part of the table, and exports nothing else. */
export const rows = <M extends { readonly [Name in keyof M]: Table[Name & keyof Table] }>(
  words: string,
  load: () => Promise<M>,
): Feature => ({
  words,
  load: async () => Object.values(await load()),
});

/** The commands of features, in the same order. */
export const loadAll = async (
  features: readonly Feature[],
): Promise<readonly (AnyOperation | Task)[]> =>
  (await Promise.all(features.map((feature) => feature.load()))).flat();

/** Exits with this code, without an error message. */
export class SilentExit extends CliError {
  readonly code: number;

  constructor(code: number) {
    super("failure", "");
    this.code = code;
  }

  override get exit(): number {
    return this.code;
  }
}

/** Whether a command prints events as they come (on a terminal or as jsonl), or one final result. */
export const asEvents = (
  input: { readonly blocking?: boolean | undefined; readonly detach?: boolean | undefined },
  format: string | undefined,
): boolean => !input.blocking && !input.detach && (format === undefined || format === "jsonl");
