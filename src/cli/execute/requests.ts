import type { HttpResponse, SendOptions } from "../../api/client.ts";
import { inexactNotice } from "../../api/exact-numbers.ts";
import { newCounter, readPage, readPages, requireComplete, sortField } from "../../api/pages.ts";
import type { Page, PageCounter, RowLimit } from "../../api/pages.ts";
import { requestFor } from "../../api/request.ts";
import type { Additions, HttpRequest, Values } from "../../api/request.ts";
import type { EventBatches } from "../../api/sse.ts";
import type { CallScope } from "../../commands/command-runner.ts";
import type { CallOptions, Context, Raw, WindowOptions } from "../../commands/command-spec.ts";
import { maskKey } from "../../redact/keys.ts";
import type { Settings } from "../../config/settings.ts";
import { targetOf } from "../../config/target.ts";
import { abortError, DryRunShown, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { oneByOne } from "../../lib/collect.ts";
import { isList, retryOf } from "../../operations/operation.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Options } from "../parse/options.ts";
import { curlText } from "../trace/curl-text.ts";
import { dryRunText } from "./dry-run.ts";
import { explainRequestError } from "./request-error.ts";
import type { CommandTransport } from "./transport.ts";

/** ms without a byte, for rows without a limit of their own (server §20). */
const DEFAULT_IDLE_TIMEOUT = 30_000;
/** ms without a byte for requests without a row: a server may compute that long (server §20). */
const MAX_IDLE_TIMEOUT = 1_260_000;

/** The parameter of a row that names the end user. */
const userParam = (row: AnyOperation): string | undefined =>
  Object.keys(row.params).find((param) => row.params[param]?.from === "user");

/** Options of a request beyond those of tasks. */
export interface RequestOptions extends CallOptions, Additions {
  /** Does a task act on the response? Then its fields are checked. */
  readonly acts?: boolean;
  readonly onHeaders?: (headers: HttpResponse["headers"]) => void;
}

/** Options of the requests of a list. */
interface RowsOptions extends RequestOptions {
  readonly counter?: PageCounter | undefined;
}

/** What the requests of a command depend on. */
interface Dependencies extends Pick<Context, "trace" | "notice"> {
  readonly options: Options;
  readonly host: Host;
  readonly connection: CommandTransport;
  readonly settings: () => Promise<Settings>;
  readonly permit?: CallScope["permit"] | undefined;
}

/** Sends the requests of one command: rows of the table with their values, paging and retries. */
export class Requests {
  /** How many writes the server has accepted. */
  writes = 0;
  readonly #deps: Dependencies;
  readonly #noticeInexact: ReturnType<typeof inexactNotice>;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
    this.#noticeInexact = inexactNotice((text) => dependencies.notice(text));
  }

  /** Sends one request; the rows of the first page for lists. */
  async call(row: AnyOperation, input: Values, options: RequestOptions = {}): Promise<unknown> {
    const paging = options.paging ?? { page: "1", limit: "100" };
    const paged = row.returns.kind === "page" ? { ...options, paging } : options;
    const response = await this.#send(row, input, paged);
    return isList(row.returns) ? readPage(row.returns, response).rows : response;
  }

  async open(row: AnyOperation, input: Values, options: CallOptions = {}): Promise<EventBatches> {
    // The reader of an event row returns the bytes (api/response.ts).
    const bytes = (await this.#send(row, input, options)) as AsyncIterable<Uint8Array>;
    return (await import("../../api/sse.ts")).readEvents(bytes);
  }

  /** Yields rows of a list up to the limit, like `pages`. */
  rows(
    row: AnyOperation,
    input: Values,
    limit: RowLimit,
    options?: RowsOptions,
  ): AsyncGenerator<unknown> {
    return oneByOne(this.pages(row, input, limit, options));
  }

  /**
   * Yields the rows of a list up to the limit as they arrive together. Without a counter to report to,
   * a whole list that is known to be incomplete is an error.
   */
  async *pages(
    row: AnyOperation,
    input: Values,
    limit: RowLimit,
    { counter: reported, ...options }: RowsOptions = {},
  ): AsyncGenerator<readonly unknown[]> {
    const { returns } = row;
    const counter = reported ?? newCounter();
    // A single page comes from one query, in which no row is lost.
    const onePage =
      limit.page !== undefined || (returns.kind === "page" && limit.limit <= returns.cap);
    const windows = onePage ? undefined : await this.#windowReader(row, input, options);
    const sorted = { ...limit, sortedBy: sortField(row, input["sort_by"]) };
    const fetch = (paging: Readonly<Record<string, string>>) =>
      this.#page(row, input, paging, options);
    try {
      const read = windows?.all(limit, counter) ?? readPages(returns, sorted, fetch, counter);
      for await (const rows of read) {
        // They may have arrived while earlier rows were printed, before an interrupt.
        if (this.#deps.host.signal.aborted) throw abortError(this.#deps.host.signal);
        yield rows;
      }
    } catch (error) {
      const { accessibleKnowledgeBases } = await import("./bound-key.ts");
      const reader = { ...this.#deps, call: this.call.bind(this) };
      const rows = await accessibleKnowledgeBases(error, row, input, reader);
      if (rows === undefined) throw error;
      const shown = rows.slice(0, limit.limit);
      const complete = shown.length === rows.length;
      Object.assign(counter, { shown: shown.length, total: rows.length, complete });
      if (shown.length > 0) yield shown;
    }
    if (reported === undefined && limit.limit === Infinity) requireComplete(counter);
  }

  async *windows(row: AnyOperation, input: Values, options: WindowOptions = {}) {
    const reader = await this.#windowReader(row, input, { ...options, acts: true });
    if (reader === undefined) throw new Error(`${row.id} cannot be read by time windows`);
    yield* reader.each(options.last);
  }

  /** Sends a request that no row describes. */
  readonly raw: Raw = async (request, kind, options) => {
    const { settings, connection, permit } = this.#deps;
    if (permit) throw new Error("only operations can be permitted");
    const { baseUrl, key } = options.target ?? targetOf(await settings(), kind);
    const full = { ...request, url: `${baseUrl}${request.url}` };
    const writes = !["GET", "HEAD"].includes(request.method);
    if (writes && (await this.#guardWrite(full, kind, key ?? ""))) throw new DryRunShown();
    const sending: SendOptions = {
      key,
      retry: writes ? "never" : "safe",
      retries: options.retries ?? this.#deps.options.retries,
      idleTimeout: this.#deps.options.idleTimeout ?? options.idleTimeout ?? MAX_IDLE_TIMEOUT,
      signal: this.#deps.host.signal,
      headers: options.headers,
    };
    const { sendRequest } = await import("../../api/client.ts");
    return sendRequest(full, sending, connection.transport, (response) =>
      Promise.resolve(response),
    );
  };

  async #send(row: AnyOperation, values: Values, options: RequestOptions): Promise<unknown> {
    this.#deps.permit?.(row, values);
    const input = await this.#withUser(row, values);
    const target = targetOf(await this.#deps.settings(), row.key);
    const request = requestFor(row, input, target.baseUrl, options);
    const writes = retryOf(row) !== "safe";
    if (writes && (await this.#guardWrite(request, row.key, target.key))) {
      // The command ends with its first request if it needs the response.
      if (row.returns.kind === "nothing") return undefined;
      throw new DryRunShown();
    }
    // Loaded only when something is sent, so a dry run starts faster.
    const [{ sendRequest }, { bodyReader }] = await Promise.all([
      import("../../api/client.ts"),
      import("../../api/response.ts"),
    ]);
    const reader = bodyReader(row.returns, options.acts === true || writes, this.#noticeInexact);
    const read = (response: HttpResponse) => {
      options.onHeaders?.(response.headers);
      return reader(response);
    };
    const user = input[userParam(row) ?? ""];
    const ids = [target.baseUrl, target.key, user];
    const endUser = user === undefined ? undefined : JSON.stringify(ids);
    const sending = { ...this.#sendOptions(row, input, target.key, options), endUser };
    try {
      const body = await sendRequest(request, sending, this.#deps.connection.transport, read);
      if (writes) this.writes++;
      return body;
    } catch (error) {
      throw explainRequestError(error, row, input, request.url.slice(target.baseUrl.length));
    }
  }

  #sendOptions(row: AnyOperation, input: Values, key: string, call: CallOptions): SendOptions {
    const { options, host } = this.#deps;
    const { signal } = host;
    const rowIdleTimeout =
      row.idleTimeout === undefined ? DEFAULT_IDLE_TIMEOUT : row.idleTimeout * 1000;
    // A retried upload that allows duplicates would create the document twice (server §9.1).
    const duplicates = retryOf(row) === "upsert" && input["duplicate"] === false;
    return {
      key,
      row,
      retry: duplicates ? "never" : retryOf(row),
      retries: call.retries ?? options.retries,
      idleTimeout: options.idleTimeout ?? rowIdleTimeout,
      signal: call.signal ? AbortSignal.any([signal, call.signal]) : signal,
    };
  }

  /** True if the request was printed for a dry run. Throws usage in read-only mode. */
  async #guardWrite(request: HttpRequest, kind: "dataset" | "app", key: string): Promise<boolean> {
    const { options, host, connection, settings } = this.#deps;
    const { dryRun, curl } = options.globals;
    if (dryRun || curl) {
      const text = curl
        ? curlText(request, kind)
        : await dryRunText(request, maskKey(key), connection.transport);
      await host.stdout.write(text);
      return true;
    }
    const { readOnly } = await settings();
    if (!readOnly.value) return false;
    throw usage(`write blocked: read-only mode (${readOnly.source})`, undefined, {
      code: "read-only",
    });
  }

  async #withUser(row: AnyOperation, input: Values): Promise<Values> {
    const name = userParam(row);
    if (name === undefined || input[name] !== undefined) return input;
    const { value, source } = (await this.#deps.settings()).user;
    await this.#deps.trace(1, `end user ${value} (${source})`);
    return { ...input, [name]: value };
  }

  async #page(
    row: AnyOperation,
    input: Values,
    paging: Readonly<Record<string, string>>,
    options: RequestOptions,
  ): Promise<Page> {
    const { elapsed } = this.#deps.host;
    const started = elapsed();
    let asOf: number | undefined;
    const onHeaders: RequestOptions["onHeaders"] = ({ date = "" }) => {
      const duration = elapsed() + 1 - started; // rounded up
      const ms = Date.parse(date) - duration;
      if (!Number.isNaN(ms)) asOf = ms / 1000;
    };
    const body = await this.#send(row, input, { ...options, paging, onHeaders });
    return { ...readPage(row.returns, body), asOf };
  }

  /** Reads the list by time windows; undefined for lists whose pages are complete. */
  async #windowReader(row: AnyOperation, input: Values, options: RequestOptions) {
    if (row.returns.kind !== "page") return undefined;
    const { windowFilters, readCompletePages, readWindows } =
      await import("../../api/time-windows.ts");
    const filters = windowFilters(row);
    if (filters === undefined) return undefined;
    const source = {
      filters,
      input,
      cap: row.returns.cap,
      fetch: (values: Values, paging: Readonly<Record<string, string>>) =>
        this.#page(row, values, paging, options),
      trace: this.#deps.trace,
    };
    return {
      all: (limit: RowLimit, counter: PageCounter) => readCompletePages(source, limit, counter),
      each: (last?: number) => readWindows(source, last),
    };
  }
}
