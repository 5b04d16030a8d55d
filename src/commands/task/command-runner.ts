import type { RowLimit } from "../../api/pages.ts";
import type { CliError } from "../../errors.ts";
import type { ProgressStep } from "../../output/report-model.ts";
import type { AnyOperation, Effect, Param, Returns } from "../../operations/operation.ts";

/** An argument of a command by the name that its help shows: `<kb>` is `kb`, `--top-k` is `top_k`. */
export interface CommandArgument {
  readonly name: string;
  readonly param: Param;
  readonly required: boolean;
  readonly many: boolean;
}

/** A command that another one can run. */
export interface CallableCommand {
  /** Program and words: `["kb", "tag", "rename"]`. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly about?: string | undefined;
  readonly effect: Effect;
  /** Operations it may send; the first is the one that the command represents. */
  readonly sends: readonly AnyOperation[];
  /** Does it need no file of this machine and no terminal? */
  readonly isTool: boolean;
  readonly key?: "dataset" | "app" | undefined;
  readonly returns: Returns<never>;
  readonly arguments: readonly CommandArgument[];
}

/** In what a command runs: who may stop it, what it may send, where its progress goes. */
export interface CallScope {
  readonly signal: AbortSignal;
  /** Application of the profile (default: that of the line). */
  readonly app?: string | undefined;
  /** Throws for a request that is not allowed; called with each before it is sent. */
  permit(row: AnyOperation, input: Readonly<Record<string, unknown>>): void;
  progress(step: ProgressStep): void;
}

/** A run of a command with its values. */
export interface CommandCall {
  readonly command: CallableCommand;
  /** JSON values by the names of the arguments. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Rows of a list to read. */
  readonly rows?: RowLimit | undefined;
}

/** What a command yielded until it ended or failed. */
export interface CommandResult {
  readonly values: readonly unknown[];
  /** Its lines on stderr. */
  readonly notices: readonly string[];
  /** Number of all rows of a list, if the server tells it. */
  readonly total: number | undefined;
  readonly error: CliError | undefined;
}

/**
 * Runs commands of the program inside another one, as a server does for its clients. `C` is the context
 * of a task.
 */
export interface CommandRunner<C> {
  /** The commands of the program that send requests with its key. */
  list(): Promise<readonly CallableCommand[]>;
  /** Runs one; the error of a failed one is part of the result. */
  run(call: CommandCall, scope: CallScope): Promise<CommandResult>;
  /** A context for requests of its own, until it is closed, and the lines it writes to stderr. */
  open(scope: CallScope): {
    readonly context: C;
    readonly notices: readonly string[];
    close(): Promise<void>;
  };
  /** What the settings allow and name. */
  settings(): Promise<{
    readonly readOnly: boolean;
    /** Applications of the profile, and the one that a command uses without --app. */
    readonly apps: readonly string[];
    readonly app: string | undefined;
  }>;
  /** The command of a shown line with its values; undefined for any other line. */
  parse(words: readonly string[]): Promise<CommandCall | undefined>;
}
