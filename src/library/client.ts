import type {
  Client,
  ClientOptions,
  Operations,
  RequestOptions,
  Resolve,
} from "../../types/index.d.ts";
import { apiClient } from "../api/client.ts";
import type { ApiClient } from "../api/client.ts";
import type { ClientSetup } from "../api/calls.ts";
import type { Values } from "../api/request.ts";
import { bytePieces } from "../lib/collect.ts";
import { baseUrlOf } from "../config/profiles.ts";
import { usage } from "../errors.ts";
import { clientHost } from "../host/client-host.ts";
import { own } from "../lib/json.ts";
import { checkKey, mayOpen } from "../lib/api-key.ts";
import { operations } from "../operations/index.ts";
import { isList } from "../operations/operation.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { resolveName } from "../resolve/resolve-names.ts";
import { newSecrets } from "../redact/keys.ts";
import type { Lookup } from "../resolve/listings.ts";
import { runsOf } from "./runs.ts";

export { ApiError, CliError, exitCodes } from "../errors.ts";

/** A client of one server with one key. Nothing is connected before the first call. Throws usage. */
export function createClient(options: ClientOptions): Client {
  const setup = setupOf(options);
  const api = apiClient(setup);
  const methods = Object.entries(rowsById()).map(([id, rows]) => [id, methodOf(id, rows, api)]);
  return {
    ...(Object.fromEntries(methods) as Operations), // types/operations.d.ts is made from the same rows
    resolve: resolverOf(api, setup),
    ...runsOf(api, setup),
  };
}

/** Looks names up through a client. */
function resolverOf(api: ApiClient, { notice }: ClientSetup): Resolve {
  const lookup: Lookup = {
    effect: "reads",
    rows: (row, input) => api.rows(row, input),
    one: (row, input) => api.call(row, input),
    base: () => Promise.resolve(undefined),
    followedRuns: () => Promise.resolve([]),
    entered: () => {},
    trace: () => Promise.resolve(),
    notice,
  };
  const resolve =
    (noun: keyof Resolve) =>
    async (name: string, within: Values = {}) =>
      (await resolveName(noun, name, within, lookup)).id;
  return {
    kb: resolve("kb"),
    tag: resolve("tag"),
    document: resolve("document"),
    field: resolve("field"),
  };
}

/** The rows of the table by operation id, that of a command first: those of one id differ by a constant field. */
export function rowsById(): Readonly<Record<string, readonly AnyOperation[]>> {
  const byId: Record<string, AnyOperation[]> = {};
  for (const row of operations) {
    const rows = (byId[row.id] ??= []);
    if (row.command === undefined) rows.push(row);
    else rows.unshift(row);
  }
  return byId;
}

function setupOf(options: ClientOptions): ClientSetup {
  const { key, appId, user = "kb-wf", retries = 3, signal, notice } = options;
  checkKey(key, "key");
  const baseUrl = baseUrlOf(options.baseUrl, options.insecureHttp ?? false);
  const { connectTimeout = 10_000, caFile, idleTimeout } = options;
  const host = clientHost({ connectTimeout, caFile });
  const secrets = newSecrets({ KB_KEY: key });
  return {
    ...host,
    kind: mayOpen(key, "app") ? "app" : "dataset",
    target: (kind) => Promise.resolve({ baseUrl, key, ...(kind === "app" && { appId }) }),
    baseUrl: () => Promise.resolve(baseUrl),
    user: () => Promise.resolve(user),
    retries,
    idleTimeout,
    signal: signal ?? new AbortController().signal,
    notice: async (text) => notice?.(text),
    trace: () => Promise.resolve(),
    redact: (text) => secrets.masked(text),
    blob: async ({ path, bytes, type }) =>
      bytes
        ? new Blob([...bytePieces(bytes as Uint8Array<ArrayBuffer>)], { type }) // never a shared buffer
        : host.openFile(path, type),
  };
}

/** The method of an operation: a promise, or for streams an iterable; lists are both. */
function methodOf(id: string, rows: readonly AnyOperation[], api: ApiClient) {
  return (input: Values = {}, options: RequestOptions = {}) => {
    // A wrong input is an error of the promise or the iterator: only these are waited for.
    const checked = () => checkedCall(id, rows, input);
    const call = async () => {
      const { row, values } = checked();
      return api.call(row, values, options);
    };
    const returns = rowFor(rows, input)?.returns;
    if (returns?.kind === "events") return eventsOf(api, checked, options);
    if (returns === undefined || !isList(returns)) return call();
    async function* all() {
      const { row, values } = checked();
      yield* api.rows(row, values, options);
    }
    if (returns.kind === "list") return new List(call as () => Promise<readonly unknown[]>, all);
    return new List(async () => withIterator((await call()) as readonly unknown[], all), all);
  };
}

/** The events of a stream as the server sent them. */
async function* eventsOf(
  api: ApiClient,
  checked: () => ReturnType<typeof checkedCall>,
  options: RequestOptions,
) {
  const { row, values } = checked();
  const { eachEvent } = await import("../api/sse.ts");
  for await (const { data } of eachEvent(await api.open(row, values, options))) yield data;
}

/** A list that is read when it is used: awaited, its first page; iterated, all pages. */
class List implements Promise<readonly unknown[]> {
  readonly [Symbol.toStringTag] = "List";
  readonly #call: () => Promise<readonly unknown[]>;
  readonly #all: () => AsyncIterator<unknown>;
  #first: Promise<readonly unknown[]> | undefined;

  constructor(call: () => Promise<readonly unknown[]>, all: () => AsyncIterator<unknown>) {
    this.#call = call;
    this.#all = all;
  }

  get #rows() {
    return (this.#first ??= this.#call());
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  readonly then: Promise<readonly unknown[]>["then"] = (...handlers) =>
    this.#rows.then(...handlers);
  readonly catch: Promise<readonly unknown[]>["catch"] = (handler) => this.#rows.catch(handler);
  readonly finally: Promise<readonly unknown[]>["finally"] = (handler) =>
    this.#rows.finally(handler);
  [Symbol.asyncIterator] = () => this.#all();
}

/** The rows of a page with an iterator over all pages, which neither prints nor compares. */
const withIterator = (rows: readonly unknown[], all: () => AsyncIterator<unknown>) =>
  Object.defineProperty([...rows], Symbol.asyncIterator, { value: all });

/** The constant fields that tell the rows of one operation apart. */
const choosingFields = (rows: readonly AnyOperation[]): readonly string[] => [
  ...new Set(rows.flatMap((row) => (rows.length > 1 ? Object.keys(row.fixed ?? {}) : []))),
];

/** The row that an input asks for. */
function rowFor(rows: readonly AnyOperation[], input: Values): AnyOperation | undefined {
  const fixed = choosingFields(rows);
  return rows.find((row) => fixed.every((name) => row.fixed?.[name] === input[name]));
}

/** The same with the input that it takes, without what chose it. Throws usage. */
function checkedCall(id: string, rows: readonly AnyOperation[], input: Values) {
  const fixed = choosingFields(rows);
  const row = rowFor(rows, input);
  if (row === undefined) {
    const choices = rows.map((each) =>
      fixed.map((name) => `${name}: ${each.fixed?.[name]}`).join(", "),
    );
    throw usage(`${id} needs one of: ${choices.join("; ")}`);
  }
  const values = Object.fromEntries(
    Object.entries(input).filter(([name]) => !fixed.includes(name)),
  );
  const unknown = Object.keys(values).find(
    (name) => own(row.params, name)?.isAboutFiles ?? !Object.hasOwn(row.params, name),
  );
  if (unknown !== undefined) throw usage(`${id} has no parameter ${JSON.stringify(unknown)}`);
  const missing = Object.entries(row.params).find(
    ([name, param]) => (param.required ?? param.in === "path") && values[name] === undefined,
  );
  if (missing) throw usage(`${id} needs the parameter ${JSON.stringify(missing[0])}`);
  return { row, values };
}
