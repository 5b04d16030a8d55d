import type { Host } from "../host.ts";
import type {
  Answer,
  AnyOperation,
  Input,
  InputOf,
  Params,
  Returns,
  Row,
} from "../operations/operation.ts";

/** One event of a stream: its kind, the server's own text, and that text parsed. */
export interface ServerEvent {
  /** `node_started`, `workflow_finished`, …; our own kinds start with an underscore. */
  readonly event: string;
  /** The JSON text as the server sent it, without `data: `. */
  readonly raw: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What may be said for one call beside its input. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Replaces the row's repeats, e.g. 0 inside a loop that repeats by itself. */
  readonly retries?: number;
}

/** What a task works with: the server, typed by the table, and the world. */
export interface Context {
  readonly host: Host;
  /** Sends one request and gives the answer (the rows of one page for lists). Throws CliError. */
  call<O extends AnyOperation>(
    row: O,
    input: InputOf<O>,
    options?: CallOptions,
  ): Promise<Answer<O>>;
  /** Every row of a list, page after page, each once. */
  each<O extends AnyOperation>(row: O, input: InputOf<O>): AsyncIterable<Row<O["returns"]>>;
  /** Opens an event stream; the iterator ends when the server closes it, and throws when it is cut. */
  open<O extends AnyOperation>(
    row: O,
    input: InputOf<O>,
    options?: CallOptions,
  ): Promise<AsyncIterable<ServerEvent>>;
  /** One line on standard error; silent with --quiet. */
  notice(text: string): Promise<void>;
  /** One line on standard error with -v (1), -vv (2) or -vvv (3). */
  trace(level: 1 | 2 | 3, text: string): Promise<void>;
  /** What the line asked for, as far as tasks may care. */
  readonly asked: {
    readonly dryRun: boolean;
    readonly yes: boolean;
    readonly quiet: boolean;
    /** ms, from --timeout. */
    readonly timeout: number | undefined;
    /** `kb` or `wf`. */
    readonly program: string;
  };
  /** The end user that requests are made for. */
  readonly user: string;
}

/** A command that needs more than one request, or none. What it yields is printed as `returns` says. */
export interface Task<P extends Params = Params> {
  readonly command: string;
  readonly summary: string;
  /** Longer text of the help page, after the summary. */
  readonly about?: string;
  /** Which key it takes; absent for commands that talk to no server. */
  readonly key?: "dataset" | "app";
  readonly params: P;
  readonly returns: Returns<never>;
  /** The operations it may send. */
  readonly sends: readonly AnyOperation[];
  /** The one row it stands for: `help --json` and the reference show method and path. */
  readonly wraps?: AnyOperation;
  /** Reads only, writes, or destroys (asks before). */
  readonly effect: "reads" | "writes" | "destroys";
  readonly examples: readonly string[];
  /** Brings the code when the command is used. */
  readonly load: () => Promise<{
    run(input: Input<P>, context: Context): AsyncIterable<unknown>;
  }>;
}

/** Declares a task; only the types happen here. */
export const task = <const P extends Params>(spec: Task<P>): Task<P> => spec;
