import { tryParseJson } from "../../lib/json.ts";
import { type Clock, pathOf, type ReceivedRequest } from "../protocol/handler.ts";

/** A request as the sandbox shows it: without its headers, which hold the key. */
export interface RequestRecord {
  /** When it came in, ISO. */
  readonly time: string;
  readonly method: string;
  /** Encoded, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Application of the key; null on knowledge routes and for an unknown key. */
  readonly app: string | null;
  /** ID of the knowledge base in the path. */
  readonly dataset: string | null;
  /** JSON of the body, or the fields of a form; null if it is neither, or too large. */
  readonly body: unknown;
  /** Length of the body in bytes. */
  readonly size: number;
  /** Null until the response begins, and if there was none. */
  status: number | null;
  /** Duration until the response ended, in ms; null until then. */
  ms: number | null;
}

/** Number of requests that the sandbox remembers, and the length of a body that it shows, in bytes. */
const MAX_RECORDS = 500;
const MAX_BODY = 32 * 1024;

/** The last requests, oldest first. */
export class RequestHistory {
  readonly #clock: Clock;
  readonly #records: RequestRecord[] = [];
  #total = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Number of all requests, with those that were forgotten. */
  get total(): number {
    return this.#total;
  }

  /** Adds a request. */
  add(request: ReceivedRequest, app: string | null): RequestRecord {
    const path = pathOf(request);
    const record: RequestRecord = {
      time: this.#clock.now().toISOString(),
      method: request.method,
      path,
      query: Object.fromEntries(new URLSearchParams(request.path.slice(path.length + 1))),
      app,
      dataset: /^\/v1\/datasets\/([0-9a-f-]{36})(?:\/|$)/.exec(path)?.[1] ?? null,
      body: shownBody(request),
      size: request.body.byteLength,
      status: null,
      ms: null,
    };
    this.#total++;
    this.#records.push(record);
    if (this.#records.length > MAX_RECORDS) this.#records.shift();
    return record;
  }

  /** Notes that the response to a request has ended. */
  end(record: RequestRecord): void {
    record.ms = this.#clock.now().getTime() - Date.parse(record.time);
  }
}

const decoder = new TextDecoder();

function shownBody({ parts, body }: ReceivedRequest): unknown {
  if (body.byteLength === 0) return null;
  const text = (bytes: Uint8Array) => (bytes.byteLength > MAX_BODY ? null : decoder.decode(bytes));
  if (parts.length === 0) return tryParseJson(text(body) ?? "") ?? null;
  return parts.map(({ name, filename, type, bytes }) =>
    filename === undefined
      ? { name, text: text(bytes) }
      : { name, filename, type, size: bytes.byteLength },
  );
}
