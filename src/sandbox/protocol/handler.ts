import type { AnyOperation, InputOf } from "../../operations/operation.ts";
import type { AppDefinition } from "../apps/definitions/app-definitions.ts";
import type { FileText } from "../readers/read-file.ts";
import type { FaultPlan } from "./faults.ts";

/** Time as the sandbox uses it; tests control it. */
export interface Clock {
  now(): Date;
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What a handler gets besides its input. */
export interface Call {
  /** Application whose key was sent; undefined on knowledge routes. */
  readonly app: AppDefinition | undefined;
  /** Server version to imitate, e.g. `1.14.2`. */
  readonly version: string;
  /** Documents show metadata values as text, or null without any (server §9.5). */
  readonly plainMetadata: boolean;
  /** Faults of this request; most are applied before and after the handler. */
  readonly plan: FaultPlan;
  /** Origin that the client used, e.g. `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** Values of the path's placeholders; rows that share a route differ in them. */
  readonly path: Readonly<Record<string, string>>;
  /** Query as sent, with `page`, `limit` and cursors. */
  readonly query: URLSearchParams;
  /** File parts of a multipart form, by field name. */
  readonly files: ReadonlyMap<string, ReceivedFile>;
  /** JSON body as sent, with fields that the row does not define. */
  readonly body: unknown;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** An error response: `{code, message, status}`, or `body` if given. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: unknown;

  constructor(status: number, code: string, message: string, body?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body ?? { code, message, status };
  }
}

/** The worker fails before its first byte: 500 without the headers of the application (server §18). */
export class WorkerFailure extends Error {}

/** Thrown by a stream to drop the connection in the middle of a response. */
export class ConnectionDropped extends Error {}

/** Result of a handler. */
export type Reply =
  /** JSON, ASCII-escaped with a final newline as the server writes it; `utf8` for runs and chats. */
  | { readonly status?: number; readonly json: unknown; readonly utf8?: true }
  /** 204 without a body. */
  | { readonly status: 204 }
  /** Event stream; each string is written as one chunk. */
  | { readonly stream: AsyncIterable<string> }
  | BytesReply;

/** Result of a handler that sends a file. */
export interface BytesReply {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A row of the operations table with the function that handles its requests. */
export interface Handler {
  readonly row: AnyOperation;
  readonly handle: (input: never, call: Call) => Reply | Promise<Reply>;
}

/** Handlers of a module of operations, by the name of the operation. */
export type Handlers<Rows, Context> = {
  readonly [Name in keyof Rows as Rows[Name] extends AnyOperation ? Name : never]?: (
    context: Context,
    input: Rows[Name] extends AnyOperation ? InputOf<Rows[Name]> : never,
    call: Call,
  ) => Reply | Promise<Reply>;
};

/** Pairs handlers with their operations, and passes each one the context. */
export const bindHandlers =
  <Rows extends object, Context>(rows: Rows, handlers: Handlers<Rows, Context>) =>
  (context: Context): readonly Handler[] =>
    Object.entries(handlers as Record<string, (...args: unknown[]) => Reply>).map(
      ([name, handle]) => ({
        row: (rows as Readonly<Record<string, AnyOperation>>)[name] as AnyOperation, // same keys
        handle: (input: never, call: Call) => handle(context, input, call),
      }),
    );

/** A file part of a multipart form. */
export interface ReceivedFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Its text; undefined for plain text, and for files that are not read. */
  readonly text?: FileText | undefined;
}
