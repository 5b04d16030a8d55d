import type { AnyOperation, InputOf } from "../../operations/operation.ts";
import type { FaultPlan } from "./faults.ts";

/** The world as the sandbox sees it: time that tests may set, and chance. */
export interface Clock {
  now(): Date;
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What a handler knows beside its input. */
export interface Call {
  /** Name of the application whose key was sent; undefined on knowledge routes. */
  readonly app: string | undefined;
  /** Server version that is played: `1.14.2`. */
  readonly version: string;
  /** Documents show their values as text, and null where they have none (server §9.5). */
  readonly plainMetadata: boolean;
  /** What is to go wrong with this request; most of it is seen to before and after the handler. */
  readonly plan: FaultPlan;
  /** Origin the client used: `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** What stood in the places of the route: rows that share a route differ in it. */
  readonly path: Readonly<Record<string, string>>;
  /** The query as sent: `page`, `limit` and cursors are here. */
  readonly query: URLSearchParams;
  /** File parts of a multipart form, by field name. */
  readonly files: ReadonlyMap<string, ReceivedFile>;
  /** The JSON body as sent, fields the row does not know included. */
  readonly body: unknown;
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal;
}

/** Ends a handler with an error answer: `{code, message, status}`, or `body` as it stands. */
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

/** What a handler gives back. */
export type Reply =
  /** JSON, ASCII-escaped with a final newline as the server writes it; `utf8` for runs and chats. */
  | { readonly status?: number; readonly json: unknown; readonly utf8?: true }
  /** 204 without a body. */
  | { readonly status: 204 }
  /** Event stream: each string is written as one chunk. */
  | { readonly stream: AsyncIterable<string> }
  | {
      readonly bytes: Uint8Array;
      readonly headers: Readonly<Record<string, string>>;
    };

/** One route of the sandbox: a row of the table and what answers it. */
export interface Handler {
  readonly row: AnyOperation;
  readonly handle: (input: never, call: Call) => Reply | Promise<Reply>;
}

/** Binds a handler to a row; its input is typed by the row. */
export const on = <O extends AnyOperation>(
  row: O,
  answer: (input: InputOf<O>, call: Call) => Reply | Promise<Reply>,
): Handler => ({ row, handle: answer });

/** A file part as it arrived. */
export interface ReceivedFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}
