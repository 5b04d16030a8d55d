import type { AnyOperation, InputOf } from "../../operations/operation.ts";
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

/** The lines of a stream, known before or as they come. */
export type EventLines = Iterable<string> | AsyncIterable<string>;

/** Result of a handler. */
export type Reply =
  /** JSON, ASCII-escaped with a final newline as the server writes it; `utf8` for runs and chats. */
  | { readonly status?: number; readonly json: unknown; readonly utf8?: true }
  /** 204 without a body. */
  | { readonly status: 204 }
  /** Event stream; each string is written as one chunk. */
  | { readonly stream: EventLines }
  | BytesReply;

/** Result of a handler that sends a file. */
export interface BytesReply {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A row of the operations table with the function that handles its requests. */
export interface Handler<C extends Call = Call> {
  readonly row: AnyOperation;
  readonly handle: (input: never, call: C) => Reply | Promise<Reply>;
}

/** Rows that share the route of another row, whose handler serves both. */
type SharingRow =
  | `${"runWorkflow" | "runWorkflowById" | "sendMessage" | "createCompletion" | "runPipeline"}Blocking`
  | `${"disable" | "archive" | "unarchive"}Documents`
  | "disableAnnotationReply"
  | "disableBuiltInFields"
  | "getMetadataOverview";

/** A handler for each of the rows, by its name. */
export type Handlers<Rows, Context, C extends Call = Call> = {
  readonly [Name in Exclude<keyof Rows, SharingRow>]: (
    context: Context,
    input: Rows[Name] extends AnyOperation ? InputOf<Rows[Name]> : never,
    call: C,
  ) => Reply | Promise<Reply>;
};

/** Pairs the rows with their handlers, and passes each one the context. */
export const bindHandlers = <Rows extends object, Context, C extends Call>(
  rows: Rows,
  handlers: Handlers<Rows, Context, C>,
  context: Context,
): readonly Handler<C>[] =>
  Object.entries(handlers as Record<string, (...args: unknown[]) => Reply>).map(
    ([name, handle]) => ({
      row: (rows as Readonly<Record<string, AnyOperation>>)[name] as AnyOperation, // same keys
      handle: (input: never, call: C) => handle(context, input, call),
    }),
  );

/** A file part of a multipart form. */
export interface ReceivedFile extends Omit<ReceivedPart, "filename"> {
  /** Its text; undefined for plain text, and for files that are not read. */
  readonly text?: FileText | undefined;
}

/** A part of a multipart form, as received. */
export interface ReceivedPart {
  readonly name: string;
  /** Undefined for a text part. */
  readonly filename?: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A request, as received. */
export interface ReceivedRequest {
  readonly method: string;
  /** Encoded, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Parts of a multipart form, in order; empty for other bodies. */
  readonly parts: readonly ReceivedPart[];
}

/** The encoded path without the query. */
export const pathOf = ({ path }: ReceivedRequest): string => path.split("?", 1)[0] ?? "/";
