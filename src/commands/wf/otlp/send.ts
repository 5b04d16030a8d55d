import { retryAfterOf } from "../../../api/error-body.ts";
import { readText } from "../../../lib/collect.ts";
import { networkError } from "../../../api/network-error.ts";
import { isLoopback } from "../../../config/profiles.ts";
import { CliError, reasonOf, usage } from "../../../errors.ts";
import type { FailureKind } from "../../../errors.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import { attempt, tryParseJson, valueAt } from "../../../lib/json.ts";
import { shortened } from "../../../lib/text.ts";
import { redactText } from "../../../redact/text.ts";
import { exportRequest, runSpans } from "../../../runs/otlp.ts";
import type { ExportedRun, OtlpSpan } from "../../../runs/otlp.ts";
import type { Context } from "../../task/command-spec.ts";
import { plainSender } from "../../task/plain-sender.ts";
import { knownApplication } from "../app/index.ts";

/** ms without a byte from the collector, and the longest that it may ask to wait. */
const IDLE_MS = 10_000;
const MAX_DELAY_MS = 30_000;
const ATTEMPTS = 4;
/** Spans of a request; the last run may exceed it. */
const MAX_SPANS = 500;
const MAX_RESPONSE = 1024 * 1024;

/** Makes requests of spans; the service is that of OTEL_SERVICE_NAME, or the application. */
export function traceWriter(context: Context) {
  const { env, secrets } = context.host;
  const mask = (text: string) => secrets.masked(redactText(text));
  let service: Promise<string> | undefined;
  const serviceName = async () =>
    env["OTEL_SERVICE_NAME"] || (await knownApplication(context))?.name || "wf";
  return {
    spans: (run: ExportedRun): OtlpSpan[] => runSpans(run, mask),
    request: async (spans: readonly OtlpSpan[]): Promise<string> =>
      exportRequest(spans, await (service ??= serviceName())),
  };
}

/** Sends traces to the collector at a URL. Throws `usage` for a URL or for headers that cannot be used. */
export function traceSender(text: string, context: Context) {
  const own = headersIn(context);
  const headers = { "content-type": "application/json", ...own };
  const url = tracesUrl(text, Object.keys(own).length > 0, context);
  const send = plainSender({ connectTimeout: IDLE_MS }, IDLE_MS, context);
  const { spans, request } = traceWriter(context);
  const post = (text: string) =>
    retried(url, context, async () => {
      const response = await send({ method: "POST", url, headers, body: { kind: "json", text } });
      return { ...response, text: await readText(response.body, MAX_RESPONSE) };
    });
  /** Returns how many spans the collector rejected. Throws if it did not take a request. */
  return async (runs: readonly ExportedRun[]): Promise<number> => {
    let rejected = 0;
    let waiting: OtlpSpan[] = [];
    for (const [index, run] of runs.entries()) {
      waiting.push(...spans(run));
      if (waiting.length < MAX_SPANS && index + 1 < runs.length) continue;
      const partial = valueAt(tryParseJson(await post(await request(waiting))), "partialSuccess");
      const count = Number(valueAt(partial, "rejectedSpans") ?? 0) || 0;
      const why = valueAt(partial, "errorMessage") || "";
      if (count > 0 || why !== "")
        await context.notice(
          `the collector rejected ${count} of ${waiting.length} spans: ${shortened(String(why), 300)}`,
        );
      rejected += count;
      waiting = [];
    }
    return rejected;
  };
}

/** Where traces go: the path /v1/traces is appended, as OTEL_EXPORTER_OTLP_ENDPOINT has it. */
function tracesUrl(text: string, hasHeaders: boolean, { options }: Context): string {
  const invalid = (problem: string, hint: string) => usage(`--otlp: ${problem}`, hint);
  const url = attempt(() => new URL(text));
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid("expected a URL", "such as http://127.0.0.1:4318");
  if (url.username !== "" || url.password !== "" || url.search !== "")
    throw invalid(
      "the URL must not have a password or a query",
      "set OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer …'",
    );
  const isPlain = url.protocol === "http:" && !isLoopback(url.hostname);
  if (hasHeaders && isPlain && !options.flags.insecureHttp)
    throw invalid(
      "plain HTTP would send OTEL_EXPORTER_OTLP_HEADERS unencrypted",
      "use https://, or pass --insecure-http",
    );
  const path = url.pathname.split("/").filter(Boolean);
  return [url.origin, ...path, ...(path.at(-1) === "traces" ? [] : ["v1", "traces"])].join("/");
}

/** The headers of the environment: `name=value` with percent-encoded values, separated by commas. */
function headersIn({ host }: Context): Record<string, string> {
  const { env, secrets } = host;
  const text = env["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] || env["OTEL_EXPORTER_OTLP_HEADERS"] || "";
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  const headers = pairs.map((pair) => {
    const [, name, encoded = ""] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    const value = attempt(() => decodeURIComponent(encoded));
    if (name === undefined || value === undefined || /[^\t\x20-\x7e]/.test(value))
      throw usage("OTEL_EXPORTER_OTLP_HEADERS: expected name=value, separated by commas");
    secrets.learn(value.replace(/^(Bearer|Basic) /i, ""));
    return [name.toLowerCase(), value] as const;
  });
  return Object.fromEntries(headers);
}

/** Statuses after which the protocol lets a request be sent again. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The text of a successful response, after as many attempts as it takes. Throws why there is none. */
async function retried(
  url: string,
  context: Context,
  send: () => Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly text: string;
  }>,
): Promise<string> {
  const { pause, abortError, host } = context;
  for (let count = 1; ; count++) {
    let error: CliError;
    let asked = 0;
    try {
      const { status, headers, text } = await send();
      if (status >= 200 && status < 300) return text;
      const told = valueAt(tryParseJson(text), "message");
      const why = typeof told === "string" ? `: ${shortened(host.secrets.masked(told), 300)}` : "";
      error = exportError(kindOf(status), `HTTP ${status}${why}`, url);
      if (!retryable.has(status) || count === ATTEMPTS) throw error;
      asked = retryAfterOf(headers, host.now()) ?? 0;
    } catch (thrown) {
      if (host.signal.aborted) throw abortError();
      if (thrown instanceof CliError || !(thrown instanceof Error)) throw thrown;
      const reason = networkError(thrown)?.words ?? reasonOf(thrown);
      if (count === ATTEMPTS) throw exportError("network", reason, url);
    }
    await pause(Math.min(MAX_DELAY_MS, asked || backoff(count - 1, delays.retry)));
  }
}

function kindOf(status: number): FailureKind {
  if (status === 401 || status === 403) return "auth";
  if (status === 429) return "limited";
  return status < 500 ? "refused" : "failure";
}

const exportError = (kind: FailureKind, reason: string, url: string): CliError =>
  new CliError(kind, `failed to send traces to ${url}: ${reason}`, { sideEffect: "none" });
