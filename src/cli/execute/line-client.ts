import type { ClientSetup, FirstRequests } from "../../api/calls.ts";
import type { IncomingResponse, OutgoingRequest } from "../../api/exchange.ts";
import { apiClient, type ApiClient } from "../../api/client.ts";
import type { HttpRequest, TypedFile, Values } from "../../api/request.ts";
import type { Context } from "../../commands/task/command-spec.ts";
import type { Settings } from "../../config/settings.ts";
import { requireBaseUrl, targetOf } from "../../config/target.ts";
import { ApiError, CliError, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { bytePieces } from "../../lib/collect.ts";
import { commandLine, mapCommands } from "../../lib/command-line.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { maskKey } from "../../redact/keys.ts";
import { toCliError } from "../errors/error-text.ts";
import { flagOf, type Command } from "../parse/command.ts";
import type { Options } from "../parse/options.ts";
import { curlText, MAX_ATTEMPTS, type Attempt, type RequestLog } from "../trace/request-log.ts";
import { escapeControls } from "../../output/display-width.ts";
import type { WireTrace } from "../trace/wire-log.ts";
import { withPrefix } from "./command-texts.ts";
import { own, stringifyJson, parseJson, valueAt } from "../../lib/json.ts";

interface ClientLine extends Pick<Context, "trace" | "notice"> {
  readonly command: Command;
  readonly options: Options;
  readonly host: Host;
  readonly log: RequestLog;
  readonly settings: () => Promise<Settings>;
  readonly permit: ClientSetup["permit"];
  readonly firsts: FirstRequests;
}

/**
 * Opens the API client of a command line: it takes server and key from the settings, logs and traces what it
 * sends, prints a write instead with --dry-run, and explains errors. `close` ends the trace of -v.
 */
export function openClient(line: ClientLine): { readonly api: ApiClient; close(): Promise<void> } {
  const { command, options, host, log, settings, permit, firsts, trace, notice } = line;
  const { verbosity, retries, idleTimeout, concurrency } = options;
  const kind = command.key ?? "app";
  const startedAt = verbosity === 0 ? 0 : host.now().getTime();
  let wireTrace: WireTrace | undefined;
  const traced: ClientSetup["onExchange"] = async (outgoing, send) => {
    const { WireTrace: Trace } = await import("../trace/wire-log.ts"); // 10 ms that only -v needs
    // A sign-in has its own address and key, so it works with settings that are wrong.
    const resolved = await settings().catch(() => undefined);
    wireTrace ??= new Trace(verbosity, resolved, startedAt, host);
    return wireTrace.exchange(outgoing, send);
  };
  // One dispatcher for all requests, so that connections are reused.
  let dispatcher: ReturnType<Host["dispatcher"]> | undefined;
  const api = apiClient({
    kind,
    retries,
    idleTimeout,
    concurrency,
    signal: host.signal,
    permit,
    firsts,
    trace,
    notice,
    target: async (key) => targetOf(await settings(), key),
    baseUrl: async () => requireBaseUrl(await settings(), kind),
    async user() {
      const { value, source } = (await settings()).user;
      await trace(1, `end user ${value} (${source})`);
      return value;
    },
    dispatcher: () => (dispatcher ??= host.dispatcher(options.connection)),
    onExchange: (outgoing, send) =>
      logRequests(log, outgoing, verbosity === 0 ? send : () => traced(outgoing, send), host),
    // The client sleeps only before a retry.
    sleep(ms, until) {
      const last = log.attempts.at(-1);
      if (last) last.waited = ms;
      return host.sleep(ms, until);
    },
    random: () => host.random(),
    elapsed: () => host.elapsed(),
    blob: (file) => blobOf(file, host),
    redact: (text) => host.secrets.masked(text),
    explain: explainRequestError,
    async holdsBack(request, keyKind, key) {
      const { dryRun, curl, json, output = json ? "json" : "" } = options.globals;
      if (dryRun || curl) {
        const dryRunText = output.startsWith("json") ? requestJson : requestLines;
        const text = curl
          ? curlText(request, keyKind)
          : await dryRunText(request, maskKey(key), host);
        await host.stdout.write(text);
        return true;
      }
      const { readOnly } = await settings();
      if (!readOnly.value) {
        log.hasWritten = true;
        return false;
      }
      throw usage(`write blocked: read-only mode (${readOnly.source})`, undefined, {
        code: "read-only",
      });
    },
  });
  return { api, close: async () => wireTrace?.close() };
}

/**
 * The request as it would be sent, the key masked. A multipart body is shown part by part: its
 * boundary is random.
 */
async function requestLines(request: HttpRequest, maskedKey: string, host: Host): Promise<string> {
  const lines = [`${request.method} ${request.url}`, `authorization: Bearer ${maskedKey}`];
  for (const [name, value] of Object.entries(request.headers)) lines.push(`${name}: ${value}`);
  if (request.body?.kind === "json") lines.push("", request.body.text);
  if (request.body?.kind === "form") {
    lines.push("content-type: multipart/form-data");
    for (const part of request.body.parts) {
      lines.push("");
      if ("text" in part) {
        lines.push(`part ${part.name}`, part.text);
        continue;
      }
      const { name, type } = part.file;
      const { size } = await blobOf(part.file, host);
      lines.push(`part ${part.name}: file ${JSON.stringify(name)}, ${type}, ${size} bytes`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** The same as a JSON line: `method`, `url`, `headers`, and `body` or `parts`. */
async function requestJson(request: HttpRequest, maskedKey: string, host: Host): Promise<string> {
  const { method, url, body } = request;
  const headers = { authorization: `Bearer ${maskedKey}`, ...request.headers };
  const parts = body?.kind === "form" ? body.parts : [];
  const shown = parts.map(async (part) => {
    if ("text" in part) return part;
    const { name: file, type } = part.file;
    return { name: part.name, file, type, size: (await blobOf(part.file, host)).size };
  });
  const sent = {
    ...(body?.kind === "json" && { body: parseJson(body.text) }),
    ...(body?.kind === "form" && { parts: await Promise.all(shown) }),
  };
  return `${escapeControls(stringifyJson({ method, url, headers, ...sent }))}\n`;
}

/** The content of a file. Its system errors become CliErrors: the client reports others as network errors. */
async function blobOf({ path, bytes, type }: TypedFile, host: Host): Promise<Blob> {
  if (bytes) return new Blob([...bytePieces(bytes as Uint8Array<ArrayBuffer>)], { type }); // never a shared buffer
  if (path === "-") {
    // Kept for retries: of pieces that are Blobs already, nothing is in memory twice.
    const pieces: Blob[] = [];
    for await (const chunk of host.stdin.bytes())
      pieces.push(new Blob([chunk as Uint8Array<ArrayBuffer>]));
    return new Blob(pieces, { type });
  }
  return host.files.blob(path, type).catch((error: unknown) => {
    throw toCliError(error);
  });
}

/**
 * Adds what the row knows to an error of its request: the action that failed, the meaning of a known
 * message, the flag of an invalid field, and how to look at an invalid response.
 */
function explainRequestError(
  error: unknown,
  row: AnyOperation,
  input: Values,
  path: string,
): unknown {
  if (!(error instanceof CliError) || error.kind === "interrupted") return error;
  const explained = withBase(withPrefix(withKnownMeaning(error, row, input), row), input);
  if (explained.info.code === "invalid-response" && row.route.startsWith("GET ")) {
    const program = row.key === "dataset" ? "kb" : "wf";
    return explained.with({
      hint: `run ${commandLine(`${program} api`, ["GET", path])} to see the response`,
    });
  }
  if (explained.kind !== "refused" || explained.info.hint !== undefined) return explained;
  return explained.with({ hint: fieldHint(error, row) });
}

/** The flag or argument of a missing or invalid field; undefined if the row has none for it. */
function fieldHint({ message, info }: CliError, row: AnyOperation): string | undefined {
  const missing = /(?:^|[\s"'])([\w.]+):? is required/.exec(message)?.[1];
  const field = String(missing ?? valueAt(info.details, "fields.0.field") ?? "").toLowerCase();
  const name = Object.hasOwn(row.params, field) ? field : field.replace(/\..*/, "");
  const param = own(row.params, name);
  if (param === undefined) return undefined;
  const words = row.command?.match(/(?<=[<[])\w+/g) ?? [];
  const argument = words.find((word) => [name, param.placeholder, param.noun].includes(word));
  const shown = argument ? `<${argument}>` : `--${flagOf(name, param)}`;
  const values = param.choices ? ` (one of: ${param.choices.join(", ")})` : "";
  return `${missing === undefined ? "check" : "add"} ${shown}${values}`;
}

/** The same error with the knowledge base of the request in the commands of its hint. */
function withBase(error: CliError, { dataset_id }: Values): CliError {
  const { hint } = error.info;
  if (hint === undefined || typeof dataset_id !== "string") return error;
  const named = (words: readonly string[]) =>
    words.includes("KB") ? words.map((word) => (word === "KB" ? dataset_id : word)) : words;
  return error.with({ hint: mapCommands(hint, named) });
}

/** The hint for a blocking request whose response is missing: gateways give up, and the run continues (server §20). */
const withoutBlocking = `the run may continue: check ${commandLine("wf logs")} before starting it again, and leave out --blocking, so that no gateway waits for all of it`;

/** The same error with the kind and hint that the row has for it. */
function withKnownMeaning(error: CliError, row: AnyOperation, input: Values): CliError {
  const isBlocking = row.key === "app" && row.fixed?.["response_mode"] === "blocking";
  const isMissing = !(error instanceof ApiError) || error.response.status > 500;
  if (isBlocking && isMissing && error.info.sideEffect === "unknown")
    return error.with({ hint: withoutBlocking });
  if (!(error instanceof ApiError)) return error;
  const { message, response, info } = error;
  const known = row.knownErrors?.find((each) => message.includes(each.message));
  if (!known) return error;
  const hint = mapCommands(known.hint, (words) =>
    words.map((word) => word.replace(/^\{(\w+)\}$/, (_, name: string) => String(input[name]))),
  );
  const { kind = "refused" } = known;
  return new ApiError(kind, message, response, { ...info, code: kind, hint });
}

async function logRequests(
  log: RequestLog,
  { request }: OutgoingRequest,
  send: () => Promise<IncomingResponse>,
  host: Host,
): Promise<IncomingResponse> {
  const attempt: Attempt = { method: request.method, url: request.url, request };
  for (const earlier of log.attempts) {
    if ((earlier.status ?? 600) < 300) earlier.request = undefined;
  }
  log.attempts.push(attempt);
  log.attempts.splice(0, log.attempts.length - MAX_ATTEMPTS);
  log.count += 1;
  const started = host.now().getTime();
  try {
    const response = await send();
    attempt.status = response.status;
    return response;
  } catch (error) {
    attempt.failure = error instanceof Error ? error.message : String(error);
    throw error;
  } finally {
    attempt.ms = host.now().getTime() - started;
  }
}
