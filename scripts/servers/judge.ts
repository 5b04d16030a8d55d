/** Judges how a server has answered: by the table of operations, and by the refusals of docs/server.md. */
import { bodyReader } from "../../src/api/response.ts";
import { attempt, valueAt } from "../../src/lib/json.ts";
import { isUuid } from "../../src/lib/text.ts";
import { atLeast } from "../../src/lib/version.ts";
import { operations } from "../../src/operations/index.ts";
import { methodAndPath, retryOf } from "../../src/operations/operation.ts";
import type { AnyOperation } from "../../src/operations/operation.ts";
import { redactSecrets } from "../../src/redact/text.ts";

/** An exchange in the format of test/recordings; without a response, its status is 0. */
export interface Exchange {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly body_text?: string;
    readonly body_bytes?: number;
    readonly chunks?: readonly (readonly [seconds: number, text: string])[];
  };
}

/** A refusal that docs/server.md describes; without operations or a version it is one of all. */
export interface Refusal {
  readonly section: string;
  readonly operations: readonly string[];
  readonly status: readonly number[];
  /** One of these is in the body. */
  readonly texts: readonly string[];
  readonly version: string;
  /** Only in applications of these modes; in all, if there are none. */
  readonly modes: readonly string[];
}

/** The operations of the API, in the order of the table. */
export const operationIds: readonly string[] = [...new Set(operations.map(({ id }) => id))];

/** The rows of an operation: one for each way in which it responds. Throws if there is none. */
function rowsOf(id: string): readonly [AnyOperation, ...AnyOperation[]] {
  const [row, ...others] = operations.filter((each) => each.id === id);
  if (!row) throw new Error(`steps.md names ${id}, which is not an operation`);
  return [row, ...others];
}

/** The last request of an operation; undefined if none was sent. */
export function exchangeOf(id: string, exchanges: readonly Exchange[]): Exchange | undefined {
  const [method, route] = methodAndPath(rowsOf(id)[0]);
  const path = new RegExp(`/v1${route.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?.*)?$`);
  return exchanges.findLast(({ request }) => request.method === method && path.test(request.path));
}

/** The body of a response as text; "" for other bytes. */
function textOf({ response: { body, body_text = "", chunks } }: Exchange): string {
  if (chunks) return chunks.map(([, text]) => text).join("");
  return body === undefined ? body_text : JSON.stringify(body);
}

const typeOf = ({ response }: Exchange): string => response.headers["Content-Type"] ?? "";

/** The events of a stream, or the body as the only one. */
const answersIn = (exchange: Exchange): readonly unknown[] =>
  exchange.response.chunks
    ? [...textOf(exchange).matchAll(/^data: (.*)/gm)].map(([, text = ""]): unknown =>
        JSON.parse(text),
      )
    : [exchange.response.body];

/** The value at a place in a response, in a stream of the first event that has it. */
export function learned(exchange: Exchange, place: string | ((body: unknown) => unknown)): unknown {
  const read = typeof place === "string" ? (body: unknown) => valueAt(body, place) : place;
  const isKnown = (value: unknown) => value !== undefined && value !== null;
  if (exchange.response.status >= 300) return undefined;
  return attempt(() => answersIn(exchange).map(read).find(isKnown)); // of any shape
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** Why a response is none that the rows of its operation declare; undefined if it is. */
export async function problemOf(id: string, exchange: Exchange): Promise<string | undefined> {
  const { status, body_bytes: bytes = 0 } = exchange.response;
  const text = textOf(exchange);
  if (status < 200 || status > 299) return `HTTP ${status} ${text.slice(0, 300).trim()}`;
  const [first, ...others] = rowsOf(id);
  const streams = typeOf(exchange).includes("event-stream");
  const fits = ({ returns }: AnyOperation) => (returns.kind === "events") === streams;
  const row = fits(first) ? first : (others.find(fits) ?? first);
  if (row.returns.kind === "file" && bytes === 0 && text === "") return "the file is empty";
  // As in the programs, a read that declares no fields may lack an ID.
  const isStrict = retryOf(row) !== "safe" || "fields" in row.returns;
  const headers = { "content-type": typeOf(exchange) };
  try {
    const response = { status, headers, body: bytesOf(text), alreadyApplied: false };
    await bodyReader(row.returns, isStrict)(response);
    return streams && answersIn(exchange).length === 0 ? "the stream has no event" : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The section of docs/server.md by which this version refuses it to an application of a mode; undefined if none does. */
export function sectionOf(
  id: string,
  exchange: Exchange,
  { version, mode = "" }: { readonly version: string; readonly mode?: string | undefined },
  refusals: readonly Refusal[],
): string | undefined {
  const { status } = exchange.response;
  const { since = "0" } = rowsOf(id)[0];
  const isMissing = status === 405 || (status === 404 && typeOf(exchange).includes("html"));
  if (isMissing && !atLeast(version, since)) return "19";
  const text = textOf(exchange);
  return refusals.find(
    (each) =>
      (each.operations.length === 0 || each.operations.includes(id)) &&
      each.status.includes(status) &&
      each.texts.some((part) => text.includes(part)) &&
      version.startsWith(each.version) &&
      (each.modes.length === 0 || each.modes.includes(mode)),
  )?.section;
}

/** The exchange without credentials, as it may be written; its header has none. */
export function redacted(exchange: Exchange): Exchange {
  const event = (json: string) => JSON.stringify(redactSecrets(JSON.parse(json)));
  const chunks = exchange.response.chunks?.map(
    ([at, text]) => [at, text.replaceAll(/(?<=^data: )\{.*\}$/gm, event)] as const,
  );
  const response = { ...exchange.response, ...(chunks && { chunks }) };
  const masked = redactSecrets({ ...exchange, response }) as Exchange; // the same fields
  return { ...masked, request: { ...masked.request, headers: exchange.request.headers } };
}

export { atLeast, isUuid };
