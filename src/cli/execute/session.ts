import type { HttpResponse, SendOptions, Transport } from "../../api/client.ts";
import type { EventBatches } from "../../api/sse.ts";
import { abortError } from "../../api/abort.ts";
import { inexactNotice } from "../../api/exact-numbers.ts";
import { limitConcurrency } from "../../api/concurrency-limit.ts";
import type { ConcurrencyLimiter } from "../../api/concurrency-limit.ts";
import { requireComplete, newCounter, readPage, readRows, sortField } from "../../api/pages.ts";
import type { Page, PageCounter, RowLimit } from "../../api/pages.ts";
import { formulasIn } from "./formula-notice.ts";
import { requestFor } from "../../api/request.ts";
import type { HttpRequest, TypedFile, Values } from "../../api/request.ts";
import type { CallOptions, Context, Raw, WindowOptions } from "../../commands/command-spec.ts";
import { maskKey } from "../../config/api-key.ts";
import { settingsFor } from "../../config/settings.ts";
import { targetOf } from "../../config/target.ts";
import type { Setting } from "../../config/setting.ts";
import type { Settings, TargetFlags } from "../../config/settings.ts";
import { ApiError, CliError, withInfo } from "../../errors.ts";
import { toCliError } from "../errors/error-text.ts";
import type { Host } from "../../host/host.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import type { Command } from "../parse/command.ts";
import { flagOf, isList } from "../parse/command.ts";
import { prefixError } from "./command-texts.ts";
import { curlText, dryRunText } from "./dry-run.ts";
import { allOf } from "../parse/input.ts";
import { timeZoneFor } from "../parse/options.ts";
import { emptyRequestLog, logRequests } from "../trace/request-log.ts";
import type { RequestLog } from "../trace/request-log.ts";
import type { WireTrace } from "../trace/wire-log.ts";
import { lookupOf } from "./lookup.ts";
import { gathering, rowLimits } from "./row-limits.ts";
import type { Options } from "../parse/options.ts";

/** Ends a command after its request was shown instead of sent. No failure. */
export class DryRunShown extends Error {}

/** ms without a byte, where a row says nothing (server §20). */
const usualIdle = 30_000;
/** ms a server may say nothing while it works, where no row tells what is asked (server §20). */
const longestIdle = 1_260_000;

/** What a command works with: settings, and requests typed by the table. */
export interface Session {
  readonly context: Context;
  readonly settings: () => Promise<Settings>;
  /** The format that flag or settings name for the output; `asked` tells it from then on. */
  readonly output: () => Promise<string | undefined>;
  /** One request; paging and further body fields come from the engine. */
  call(row: AnyOperation, input: Values, options?: CallOptions & Adding): Promise<unknown>;
  /**
   * Rows of a list, as many as wanted. Where nobody watches the progress, a whole list that is known
   * to be incomplete is a failure.
   */
  rows(
    row: AnyOperation,
    input: Values,
    wanted: RowLimit,
    progress?: PageCounter,
  ): AsyncIterable<unknown>;
  open(row: AnyOperation, input: Values, options?: CallOptions): Promise<EventBatches>;
  /** Ends what -v shows. */
  close(): Promise<void>;
  /** How many writes the server has accepted. */
  writes(): number;
}

interface Acting {
  /** Does a task act on the answer? */
  readonly acts?: boolean;
}

interface Adding extends Acting {
  readonly paging?: Readonly<Record<string, string>>;
  readonly extra?: Values | undefined;
  /** Told the headers of an answer that is read. */
  readonly heard?: (headers: HttpResponse["headers"]) => void;
}

/** Makes the session of one command line. Nothing is read or sent before it is needed. */
export function openSession(
  command: Command,
  options: Options,
  host: Host,
  progress: Context["progress"] = () => {},
  trail: RequestLog = emptyRequestLog(),
): Session {
  const { globals } = options;
  const flags: TargetFlags = {
    profile: globals.profile,
    baseUrl: globals.baseUrl,
    app: globals.app,
    user: globals.user,
    output: globals.output,
    readOnly: globals.readOnly,
    insecureHttp: globals.insecureHttp,
  };
  let found: Promise<Settings> | undefined;
  const settings = () =>
    (found ??= settingsFor(flags, host, {
      key: command.key ?? (command.requests ? "both" : undefined),
    }));

  const typed = globals.json || globals.jq !== undefined ? "json" : globals.output;
  let named: Setting = { value: undefined, source: "not set" };
  const output = async () => {
    // What talks to no server does without a profile.
    named =
      command.key !== undefined
        ? (await settings()).output
        : {
            value: globals.output ?? (host.env["KB_OUTPUT"] || undefined),
            source: globals.output === undefined ? "KB_OUTPUT" : "-o",
          };
    trail.output = named.value;
    return named.value;
  };

  const { signal } = host;
  const trace = async (level: 1 | 2 | 3, text: string) => {
    if (options.verbosity >= level) await say(text, host);
  };
  // Loaded when something is sent and -v is given.
  let watching: WireTrace | undefined;
  const began = options.verbosity === 0 ? 0 : host.now().getTime();
  const wireTrace = async () => {
    const { openWireTrace } = await import("../trace/wire-log.ts");
    const found = await settings();
    return (watching ??= openWireTrace(options.verbosity, found, began, host));
  };
  // One for all requests of a line, so that connections are kept.
  let dispatcher: ReturnType<Host["dispatcher"]> | undefined;
  const opened: ConcurrencyLimiter[] = [];
  let writes = 0;
  const world: Transport = {
    dispatcher: () => (dispatcher ??= host.dispatcher(options.connection)),
    onExchange: (outgoing, send) =>
      logRequests(
        trail,
        outgoing,
        options.verbosity === 0 ? send : async () => (await wireTrace()).exchange(outgoing, send),
        host,
      ),
    // The client waits only before it repeats a request.
    sleep(ms, until) {
      const last = trail.tries.at(-1);
      if (last) last.waited = ms;
      for (const lanes of opened) lanes.decrease();
      return host.sleep(ms, until);
    },
    random: () => host.random(),
    blob: (file) => blobOf(file, host),
    redact: (text) => host.secrets.masked(text),
    trace,
  };

  const sendingFor = (
    row: AnyOperation,
    input: Values,
    key: string,
    asked: CallOptions,
  ): SendOptions => ({
    key,
    row,
    // A file that is to be a second one of its name would be there twice (server §9.1).
    retry: retryOf(row) === "upsert" && input["duplicate"] === false ? "never" : retryOf(row),
    retries: asked.retries ?? options.retries,
    idleTimeout:
      options.idleTimeout ?? (row.idleTimeout === undefined ? usualIdle : row.idleTimeout * 1000),
    signal: asked.signal ? AbortSignal.any([signal, asked.signal]) : signal,
  });

  /** True when a write was shown instead, because that was asked for; refuses it where writes are. */
  const guardWrite = async (request: HttpRequest, kind: "dataset" | "app", key: string) => {
    if (globals.dryRun || globals.curl) {
      const text = globals.curl
        ? curlText(request, kind)
        : await dryRunText(request, maskKey(key), world);
      await host.stdout.write(text);
      return true;
    }
    const readOnly = (await settings()).readOnly;
    if (readOnly.value) {
      throw new CliError(
        "usage",
        `this would change something, and ${readOnly.source} allows reading only`,
        {
          code: "read-only",
          sideEffect: "none",
        },
      );
    }
  };

  const withUser = async (row: AnyOperation, input: Values): Promise<Values> => {
    const name = Object.keys(row.params).find((param) => row.params[param]?.from === "user");
    if (name === undefined || input[name] !== undefined) return input;
    const { value, source } = (await settings()).user;
    await trace(1, `end user ${value} (${source})`);
    return { ...input, [name]: value };
  };

  const tellInexact = inexactNotice((text) => context.notice(text));

  const ask = async (
    row: AnyOperation,
    given: Values,
    asked: CallOptions & Adding,
  ): Promise<unknown> => {
    const input = await withUser(row, given);
    const target = targetOf(await settings(), row.key);
    const request = requestFor(row, input, target.baseUrl, asked.paging, asked.extra);
    if (retryOf(row) !== "safe" && (await guardWrite(request, row.key, target.key))) {
      // Where an answer is needed to go on, the command ends with its first request.
      if (row.returns.kind === "nothing") return undefined;
      throw new DryRunShown();
    }
    // Loaded when something is sent: a dry run does without.
    const [{ sendRequest }, { bodyReader }] = await Promise.all([
      import("../../api/client.ts"),
      import("../../api/response.ts"),
    ]);
    const acts = asked.acts === true || retryOf(row) !== "safe";
    const reader = bodyReader(row.returns, acts, tellInexact);
    const read = (answer: HttpResponse) => {
      asked.heard?.(answer.headers);
      return reader(answer);
    };
    try {
      const answer = await sendRequest(
        request,
        sendingFor(row, input, target.key, asked),
        world,
        read,
      );
      if (retryOf(row) !== "safe") writes++;
      return answer;
    } catch (error) {
      throw explained(reread(error, row, input), row, request.url.slice(target.baseUrl.length));
    }
  };

  const page = async (
    row: AnyOperation,
    input: Values,
    paging: Readonly<Record<string, string>>,
    asked: CallOptions & Acting = {},
  ): Promise<Page> => {
    let date: string | undefined;
    const heard: Adding["heard"] = (headers) => (date = headers["date"]);
    return { ...readPage(row.returns, await ask(row, input, { ...asked, paging, heard })), date };
  };

  /** For reading by windows of time; undefined where pages are complete as they come. */
  const inWindows = async (row: AnyOperation, input: Values, asked: CallOptions & Acting) => {
    if (row.returns.kind !== "page") return undefined;
    const { windowFilters, readCompleteRows, readWindows } =
      await import("../../api/time-windows.ts");
    const filters = windowFilters(row);
    if (filters === undefined) return undefined;
    const source = {
      filters,
      input,
      cap: row.returns.cap,
      fetch: (values: Values, paging: Readonly<Record<string, string>>) =>
        page(row, values, paging, asked),
      trace,
    };
    return {
      all: (wanted: RowLimit, progress: PageCounter) => readCompleteRows(source, wanted, progress),
      each: (last?: number) => readWindows(source, last),
    };
  };

  const rows = async function* (
    row: AnyOperation,
    input: Values,
    wanted: RowLimit,
    watched?: PageCounter,
    asked: Acting = {},
  ): AsyncGenerator<unknown> {
    const { returns } = row;
    const progress = watched ?? newCounter();
    // What one page shows comes from one query, in which nothing is lost.
    const onePage =
      wanted.page !== undefined || (returns.kind === "page" && wanted.limit <= returns.cap);
    const found = onePage ? undefined : await inWindows(row, input, asked);
    const all = () =>
      readRows(
        returns,
        { ...wanted, sortedBy: sortField(row, input["sort_by"]) },
        (paging) => page(row, input, paging, asked),
        progress,
      );
    try {
      yield* found?.all(wanted, progress) ?? all();
    } catch (error) {
      const { openedBases } = await import("./bound-key.ts");
      const opened = await openedBases(error, row, input, session);
      if (opened === undefined) throw error;
      const shown = opened.slice(0, wanted.limit);
      const complete = shown.length === opened.length;
      Object.assign(progress, { shown: shown.length, total: opened.length, complete });
      yield* shown;
    }
    if (watched === undefined && wanted.limit === Infinity) requireComplete(progress);
  };

  const windows = async function* (row: AnyOperation, input: Values, asked: WindowOptions = {}) {
    const found = await inWindows(row, input, { ...asked, acts: true });
    if (found === undefined) throw new Error(`${row.id} is not read by windows`);
    yield* found.each(asked.last);
  };

  const open: Session["open"] = async (row, input, asked = {}) => {
    // The reader of an event row hands out the bytes (api/answer.ts).
    const bytes = (await ask(row, input, asked)) as AsyncIterable<Uint8Array>;
    return (await import("../../api/sse.ts")).readEvents(bytes);
  };

  const call: Session["call"] = async (row, input, asked = {}) => {
    const answer = await ask(row, input, firstPage(row.returns, asked));
    return isList(row.returns) ? readPage(row.returns, answer).rows : answer;
  };

  const raw: Raw = async (request, kind, asked) => {
    const { baseUrl, key } = asked.target ?? targetOf(await settings(), kind);
    const full = { ...request, url: `${baseUrl}${request.url}` };
    const writes = !["GET", "HEAD"].includes(request.method);
    if (writes && (await guardWrite(full, kind, key ?? ""))) throw new DryRunShown();
    const sending: SendOptions = {
      key,
      retry: writes ? "never" : "safe",
      retries: options.retries,
      idleTimeout: options.idleTimeout ?? longestIdle,
      signal,
      headers: asked.headers,
    };
    const { sendRequest } = await import("../../api/client.ts");
    return sendRequest(full, sending, world, (answer) => Promise.resolve(answer));
  };

  /** Sessions with the settings of other profiles. */
  const others: Session[] = [];
  const context: Context = {
    host,
    // The generic signatures of Context are the row's types; inside, values are plain data.
    call: ((row: AnyOperation, input: Values, asked?: CallOptions) =>
      call(row, input, { ...asked, acts: true })) as Context["call"],
    each: ((row: AnyOperation, input: Values) =>
      rows(row, input, { limit: Infinity }, undefined, { acts: true })) as Context["each"],
    rows: ((row: AnyOperation, input: Values, wanted: RowLimit, progress?: PageCounter) =>
      rows(row, input, wanted, progress, { acts: true })) as Context["rows"],
    windows: windows as Context["windows"],
    open: open as Context["open"],
    raw,
    limitConcurrency(most) {
      const lanes = limitConcurrency(most);
      opened.push(lanes);
      return lanes;
    },
    baseUrl: async () => targetOf(await settings(), command.key ?? "app").baseUrl,
    resolveId: async (noun, text) => {
      const { resolveName } = await import("./resolve-names.ts");
      return (await resolveName(noun, text, {}, lookupOf(session))).id;
    },
    withProfile(profile) {
      const { baseUrl: _, app: __, ...rest } = globals; // these were said of this profile
      const asked = { ...options, globals: { ...rest, profile } };
      const other = openSession(command, asked, host, progress, trail);
      others.push(other);
      return other.context;
    },
    notice: async (text) => {
      if (!options.quiet) await say(text, host);
    },
    formulas: formulasIn(globals.safeCells === true, (text) => context.notice(text)),
    progress,
    trace,
    confirm: (question) => confirm(question, options, host, signal),
    options: {
      dryRun: Boolean(globals.dryRun || globals.curl),
      get format() {
        return typed ?? named.value;
      },
      typed,
      rows: rowLimits(command, globals),
      get gathers() {
        return gathering(globals, typed ?? named.value, named.source);
      },
      terminal: host.stdout.isTTY && globals.outputFile === undefined,
      deadline: options.timeout !== undefined,
      get input() {
        return options.input;
      },
      timeZone: () => timeZoneFor(globals, host),
      program: command.words[0] ?? "",
      flags,
    },
    signal,
    abortError: () => abortError(signal, command.effect !== "reads"),
  };
  const session: Session = {
    context,
    settings,
    output,
    call,
    rows,
    open,
    writes: () => others.reduce((sum, other) => sum + other.writes(), writes),
    async close() {
      await watching?.close();
      for (const other of others) await other.close();
    },
  };
  return session;
}

/** A line on standard error; it may hold words of a server, which add no line of their own. */
async function say(text: string, host: Host): Promise<void> {
  const { visible } = await import("../../output/table/display-width.ts");
  await host.stderr.write(`${visible(text)}\n`);
}

const firstPage = <A extends Adding>(returns: Returns<never>, asked: A): A =>
  returns.kind === "page"
    ? { ...asked, paging: asked.paging ?? { page: "1", limit: "100" } }
    : asked;

/** Asks before something is destroyed. Throws usage where nobody can be asked. */
async function confirm(
  question: string,
  options: Options,
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  if (options.globals.yes) return;
  if (!options.input) {
    throw new CliError(
      "usage",
      `confirmation required: cannot prompt without a terminal: ${question}`,
      {
        code: "confirmation-needed",
        sideEffect: "none",
        hint: "pass --yes to skip the prompt",
      },
    );
  }
  const typed = await host.prompt(`${question} [y/N] `, { signal }).catch((error: unknown) => {
    throw signal.aborted ? abortError(signal, false) : error;
  });
  const answer = typed.trim().toLowerCase();
  if (answer === "y" || answer === "yes") return;
  throw new CliError("usage", "not confirmed", { code: "declined", sideEffect: "none" });
}

/** Its failures are those of a disk: to the client the system's errors mean the network. */
async function blobOf({ path, bytes, type }: TypedFile, host: Host): Promise<Blob> {
  if (bytes) return new Blob([bytes as Uint8Array<ArrayBuffer>], { type }); // of a file, shared with nobody
  if (path !== "-") {
    return host.files.blob(path, type).catch((error: unknown) => {
      throw toCliError(error);
    });
  }
  return new Blob([await allOf(host.stdin.bytes())], { type });
}

/** What a refusal really means, where the row knows. */
function reread(error: unknown, row: AnyOperation, input: Values): unknown {
  if (!(error instanceof ApiError)) return error;
  const { message, response: refusal, info } = error;
  const known = row.knownErrors?.find(({ says }) => message.includes(says));
  if (!known) return error;
  const hint = known.hint.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name]));
  return new ApiError(known.kind, message, refusal, { ...info, code: known.kind, hint });
}

/**
 * Adds what the row knows to a failure: which operation it was, the flag for what is missing, and how to
 * look at an answer that makes no sense.
 */
function explained(error: unknown, row: AnyOperation, path: string): unknown {
  if (error instanceof CliError && error.kind !== "interrupted") {
    const { kind, info, message } = error;
    prefixError(error, row);
    if (info.code === "invalid-response" && row.route.startsWith("GET ")) {
      const program = row.key === "dataset" ? "kb" : "wf";
      withInfo(error, { hint: `${program} api GET '${path}' shows what the server sends` });
    }
    const name = /(?:^|[\s"'])([\w.]+) is required/.exec(message)?.[1] ?? "";
    const param = Object.hasOwn(row.params, name) ? row.params[name] : undefined;
    if (kind === "refused" && info.hint === undefined && param !== undefined) {
      const values = param.choices ? `: ${param.choices.join(", ")}` : "";
      withInfo(error, { hint: `give --${flagOf(name, param)}${values}` });
    }
  }
  return error;
}

/** The id inside an answer, where `-o name` finds it. */
export const idOf = (returns: Returns<never>, answer: unknown): string | undefined => {
  const path = "namePath" in returns && returns.namePath !== undefined ? returns.namePath : "id";
  const id = isObject(answer) ? valueAt(answer, path) : undefined;
  return typeof id === "string" ? id : undefined;
};
