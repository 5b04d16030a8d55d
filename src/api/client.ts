import { oneByOne } from "../lib/collect.ts";
import { isList } from "../operations/operation.ts";
import type {
  AnyOperation,
  InputOf,
  Operation,
  ResponseOf,
  RowOf,
} from "../operations/operation.ts";
import { Calls } from "./calls.ts";
import type { CallOptions, ClientSetup, ListCall, RawOptions } from "./calls.ts";
import type { AdaptiveLimit, ConcurrencyOptions } from "./adaptive-limit.ts";
import type { HttpResponse } from "./exchange.ts";
import { newCounter, readPage, readPages, requireComplete, sortField } from "./pages.ts";
import type { Page, PageCounter, Paging, RowLimit } from "./pages.ts";
import type { HttpRequest, Values } from "./request.ts";
import type { EventBatches } from "./sse.ts";
import type { TimeWindow } from "./time-windows.ts";
import { stringifyJson } from "../lib/json.ts";

/** Input of a row; plain values if the row is only known at run time. */
type InputFor<O> = AnyOperation extends O ? Values : InputOf<O>;

/** Options of reading a list: which rows, and a counter to report to. */
export interface ListOptions extends CallOptions, Partial<Pick<RowLimit, "limit" | "page">> {
  /** Updated as rows arrive; without one, a whole list that is known to be incomplete is an error. */
  readonly counter?: PageCounter | undefined;
}

/** Options of reading a list by time windows. */
export interface WindowOptions extends CallOptions {
  /** Unix second at which the list ends (default: the server's clock). */
  readonly last?: number | undefined;
}

/** Calls operations of the table. Its methods throw CliError; all of them stop with the signal of the client. */
export interface ApiClient {
  /** Sends one request; returns the response, or the rows of the first page of a list. */
  call<O extends AnyOperation>(
    row: O,
    input: InputFor<O>,
    options?: CallOptions,
  ): Promise<ResponseOf<O>>;
  /** The rows of a list without duplicates: all, or those up to a limit. */
  rows<O extends AnyOperation>(
    row: O,
    input: InputFor<O>,
    options?: ListOptions,
  ): AsyncGenerator<RowOf<O["returns"]>>;
  /** The same rows as they arrive together. */
  pages<O extends AnyOperation>(
    row: O,
    input: InputFor<O>,
    options?: ListOptions,
  ): AsyncGenerator<readonly RowOf<O["returns"]>[]>;
  /** All rows of a list by time windows, newest first; only for lists with time filters. */
  windows<O extends AnyOperation>(
    row: O,
    input: InputFor<O>,
    options?: WindowOptions,
  ): AsyncGenerator<TimeWindow<RowOf<O["returns"]>>>;
  /** Opens an event stream; it ends when the server closes it, and throws if the connection is lost. */
  open<O extends AnyOperation>(
    row: O,
    input: InputFor<O>,
    options?: CallOptions,
  ): Promise<EventBatches>;
  /** Sends a request that no row describes; its URL is a path below the base URL. */
  raw(request: HttpRequest, kind: Operation["key"], options?: RawOptions): Promise<HttpResponse>;
  /** The same client with other options for its calls. */
  with(options: CallOptions): ApiClient;
  /** A limit for parallel requests, which adapts to the server. */
  limitConcurrency(options?: ConcurrencyOptions): AdaptiveLimit;
  /** Base URL of the API without a trailing slash; known without a key. */
  baseUrl(): Promise<string>;
  /** The end user of requests that name none. */
  user(): Promise<string | undefined>;
  /** Identifies the server, its key, the values and the content. No key can be read from it. */
  fingerprint(
    values: readonly unknown[],
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<string>;
  /** How many writes the server has accepted. */
  writes(): number;
}

/** A client of the API. Nothing is loaded or connected before the first call. */
export const apiClient = (setup: ClientSetup): ApiClient => clientOf(new Calls(setup), {});

function clientOf(calls: Calls, common: CallOptions): ApiClient {
  const { setup } = calls;
  const lists = listsOf(calls);
  const plain = {
    async call(row: AnyOperation, input: Values, options?: CallOptions) {
      const call = { ...common, ...options };
      if (!isList(row.returns)) return calls.send(row, input, call);
      const paging = row.returns.kind === "page" ? { page: "1", limit: "100" } : {};
      return readPage(row.returns, await calls.send(row, input, { ...call, paging })).rows;
    },
    rows: (row: AnyOperation, input: Values, options?: ListOptions) =>
      oneByOne(lists.pages(row, input, { ...common, ...options })),
    pages: (row: AnyOperation, input: Values, options?: ListOptions) =>
      lists.pages(row, input, { ...common, ...options }),
    windows: (row: AnyOperation, input: Values, options?: WindowOptions) =>
      lists.windows(row, input, { ...common, ...options }),
    async open(row: AnyOperation, input: Values, options?: CallOptions) {
      // The reader of an event row returns the bytes (response.ts).
      const bytes = await calls.send(row, input, { ...common, ...options });
      const { readEvents } = await import("./sse.ts");
      return readEvents(bytes as AsyncIterable<Uint8Array>, (text) =>
        calls.setup.trace(1, `skipped an event without fields: ${text.slice(0, 200)}`),
      );
    },
  };
  return {
    ...(plain as Pick<ApiClient, keyof typeof plain>), // the table has the types of its rows
    raw: (request, kind, options) =>
      calls.raw(request, kind, { retries: common.retries, ...options }),
    with: (options) => clientOf(calls, { ...common, ...options }),
    limitConcurrency: (options) => calls.limitConcurrency(options),
    baseUrl: () => setup.baseUrl(),
    user: () => setup.user(),
    async fingerprint(values, content) {
      const { baseUrl, key, appId } = await setup.target(setup.kind);
      const { createHash } = await import("node:crypto"); // it takes 2 ms that only a journal needs
      const opened = appId === undefined ? key : `${key} ${appId}`; // no key has a blank
      const hash = createHash("sha256").update(stringifyJson([baseUrl, opened, ...values]));
      for await (const piece of content) hash.update(piece);
      return hash.digest("hex").slice(0, 32);
    },
    writes: () => calls.writes,
  };
}

function listsOf(calls: Calls) {
  const readOne = async (row: AnyOperation, input: Values, call: ListCall): Promise<Page> => {
    const { elapsed } = calls.setup;
    const started = elapsed();
    let asOf: number | undefined;
    const onHeaders: ListCall["onHeaders"] = ({ date = "" }) => {
      const duration = elapsed() + 1 - started; // rounded up
      const ms = Date.parse(date) - duration;
      if (!Number.isNaN(ms)) asOf = ms / 1000;
    };
    const body = await calls.send(row, input, { ...call, onHeaders });
    return { ...readPage(row.returns, body), asOf };
  };
  /** Reads the list by time windows; undefined for lists whose pages are complete. */
  const windowsOf = async (row: AnyOperation, input: Values, call: CallOptions) => {
    if (row.returns.kind !== "page") return undefined;
    const { isUnordered, readCompletePages, readWindows } = await import("./time-windows.ts");
    if (!isUnordered(row)) return undefined;
    const fetch = (values: Values, paging: Paging) => readOne(row, values, { ...call, paging });
    const source = { input, cap: row.returns.cap, fetch, trace: calls.setup.trace };
    return {
      all: (limit: RowLimit, counter: PageCounter) => readCompletePages(source, limit, counter),
      each: (end?: number) => readWindows(source, end),
    };
  };
  return {
    async *pages(row: AnyOperation, input: Values, options: ListOptions) {
      const { counter: reported, limit = Infinity, page, ...call } = options;
      const { returns } = row;
      const counter = reported ?? newCounter();
      // A single page comes from one query, in which no row is lost.
      const onePage = page !== undefined || (returns.kind === "page" && limit <= returns.cap);
      const windows = onePage ? undefined : await windowsOf(row, input, call);
      const range = { limit, page, sortedBy: sortField(row, input["sort_by"]) };
      const fetch = (paging: Paging) => readOne(row, input, { ...call, paging });
      const read = windows?.all(range, counter) ?? readPages(returns, range, fetch, counter);
      for await (const rows of read) {
        // They may have arrived while earlier rows were printed, before an interrupt.
        calls.throwIfAborted();
        yield rows;
      }
      if (reported === undefined && limit === Infinity) requireComplete(counter);
    },
    async *windows(row: AnyOperation, input: Values, { last, ...call }: WindowOptions) {
      const reader = await windowsOf(row, input, call);
      if (reader === undefined) throw new Error(`${row.id} cannot be read by time windows`);
      yield* reader.each(last);
    },
  };
}
