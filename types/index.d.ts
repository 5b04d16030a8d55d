// The interface of the package: `import { createClient } from "kb-wf"` (docs/library.md).
import type { Operations } from "./operations.d.ts";

export type * from "./operations.d.ts";

/** Any JSON value, as a server sends it. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [field: string]: JsonValue };

/** An object of an answer: any further field may be there. */
export type JsonObject = { readonly [field: string]: JsonValue };

/** `AbortSignal`, where it is declared: by `@types/node` or TypeScript's library `dom`. */
export type Signal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer S } }
  ? S
  : { readonly aborted: boolean };

/** What a client is made of. */
export interface ClientOptions {
  /** Base URL of the API: `https://example.com/v1`. */
  readonly baseUrl: string;
  /** A knowledge key (`dataset-…`), the key of an application (`app-…`) or an access token (`sk-…`). */
  readonly key: string;
  /** ID of the application, for an access token that opens several. */
  readonly appId?: string;
  /** The end user of requests that name none (default `kb-wf`). */
  readonly user?: string;
  /** Attempts after the first one, for requests that can be repeated without doubling work (default 3). */
  readonly retries?: number;
  /** ms without a byte from the server (default: that of the operation, 30,000 for most). */
  readonly idleTimeout?: number;
  /** ms to connect (default 10,000). */
  readonly connectTimeout?: number;
  /** PEM file of an additional certificate authority. */
  readonly caFile?: string;
  /** Is plain HTTP to another machine allowed? */
  readonly insecureHttp?: boolean;
  /** Ends all requests of the client. */
  readonly signal?: Signal;
  /** Called with remarks for people, such as that a number has lost digits. */
  readonly notice?: (text: string) => void;
}

/** Options of one request. */
export interface RequestOptions {
  readonly signal?: Signal;
  /** Attempts after the first one (default: that of the client). */
  readonly retries?: number;
}

/** A file to upload: its path, or its bytes. */
export interface FileInput {
  readonly path: string;
  /** Its name on the server. */
  readonly name: string;
  /** Media type (default: by the extension of the name). */
  readonly type?: string;
  /** Content, if it is not read from the path. */
  readonly bytes?: Uint8Array;
}

/** An event of a stream, as the server sent it. */
export interface RunEvent {
  readonly event: string;
  readonly [field: string]: JsonValue;
}

/**
 * The rows of a list. Awaited, the rows of its first page (all of them where the server has no pages); iterated
 * with `for await`, all rows of all pages, each once. Nothing is sent before that.
 */
export interface List<T> extends Promise<Rows<T>>, AsyncIterable<T> {}

/** An array that `for await` continues over all pages. */
export interface Rows<T> extends ReadonlyArray<T>, AsyncIterable<T> {}

/** A method for each operation of the API, named by its operation id. Its errors are `CliError`s. */
export interface Client extends Operations {
  /** The ids of what has a name, or the beginning of an id; a whole id is returned as it is. */
  readonly resolve: Resolve;
  /**
   * The events of a run that has been started, across lost connections. Where events are missing that a server never
   * sends again, there is an event `_gap`.
   */
  follow(runId: string, options?: FollowRunOptions): Run;
  /** Starts a run of a workflow, never twice, and follows it. */
  run(inputs: JsonObject, options?: StartRunOptions): Run;
}

/**
 * Looks names up as the command line does. Rejects with a `CliError` `not-found`, which suggests a near name, or
 * `refused` with the candidates of an ambiguous one. `within` has the ids of what the object belongs to.
 */
export interface Resolve {
  kb(name: string): Promise<string>;
  tag(name: string): Promise<string>;
  document(name: string, within: { readonly dataset_id: string }): Promise<string>;
  /** A metadata field. */
  field(name: string, within: { readonly dataset_id: string }): Promise<string>;
}

/** Options of following a run. */
export interface FollowRunOptions {
  /** Ends the following; the run goes on. */
  readonly signal?: Signal;
  /** Does it go on when the run pauses for human input (default: the result is `paused`)? */
  readonly throughPauses?: boolean;
}

/** Options of starting a run. */
export interface StartRunOptions extends FollowRunOptions {
  /** A version of the workflow (default: the published one). */
  readonly workflowId?: string;
  /** Further fields of the request, such as `files`. */
  readonly body?: JsonObject;
}

/** A run that is followed. Nothing is sent before it is iterated or `result` is read. */
export interface Run extends AsyncIterable<RunEvent> {
  /**
   * How it ended, which a failed run tells as well; it reads the events if nobody does. Rejects if the run could not be
   * started, or followed to its end.
   */
  readonly result: Promise<RunResult>;
}

/** How a run ended or paused. */
export interface RunResult {
  readonly runId: string;
  /** `succeeded`, `failed`, `stopped`, `partial-succeeded` or `paused`. */
  readonly status: string;
  readonly error: string | null;
  /** What the workflow has returned; empty unless it has ended. */
  readonly outputs: JsonObject;
  /** The open forms of a paused run. */
  readonly forms: readonly { readonly token: string; readonly actions: readonly string[] }[];
}

/** A client of one server with one key. Nothing is connected before the first call. Throws a `CliError` `usage`. */
export function createClient(options: ClientOptions): Client;

/** The kinds of errors, with the exit codes of `kb` and `wf` and their meanings. */
export const exitCodes: {
  readonly [kind in "ok" | ErrorKind]: readonly [code: number, meaning: string];
};

/** What kind of failure it is: the reason of an exit code of `kb` and `wf`. */
export type ErrorKind =
  | "failure"
  | "usage"
  | "not-found"
  | "auth"
  | "refused"
  | "unsupported"
  | "limited"
  | "paused"
  | "remote-failed"
  | "partial"
  | "network"
  | "deadline"
  | "cut"
  | "gate"
  | "hangup"
  | "interrupted"
  | "terminated";

/** Further fields of an error. */
export interface ErrorInfo {
  /** The next step. */
  readonly hint?: string | undefined;
  /** Stable code for programs (default: the kind). */
  readonly code?: string | undefined;
  /** Whether the same call can succeed later. */
  readonly retryable?: boolean | undefined;
  /** Further data: candidates of an ambiguous name, invalid fields. */
  readonly details?: unknown;
  /** Whether the server applied a change. */
  readonly sideEffect?: "none" | "unknown" | "applied" | undefined;
}

/** An expected failure. */
export class CliError extends Error {
  constructor(kind: ErrorKind, message: string, info?: ErrorInfo);
  readonly kind: ErrorKind;
  readonly info: ErrorInfo;
  /** The exit code of this kind. */
  readonly exit: number;
}

/** An error that the server sent. */
export class ApiError extends CliError {
  readonly response: { readonly status: number; readonly [field: string]: unknown };
}
