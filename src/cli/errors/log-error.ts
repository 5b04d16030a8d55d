import type { HttpRequest } from "../../api/request.ts";
import { ApiError, causesOf, errorJson, signalKinds, type CliError } from "../../errors.ts";
import { writeErrorLog, type LoggedError } from "../../host/error-log.ts";
import type { Host } from "../../host/host.ts";
import { isOn } from "../../lib/environment.ts";
import { tryParseJson, stringifyJson } from "../../lib/json.ts";
import { version } from "../../lib/version.ts";
import { redactStructure, redactText, redactValue, truncate } from "../../redact/text.ts";
import { curlText, type Attempt, type RequestLog } from "../trace/request-log.ts";

/** Characters of a word of the command line, or of a query value, that are logged. */
const MAX_WORD = 60;

/** Kinds that are not failures: the command was stopped, or this is its result. */
const notFailures: readonly string[] = [...Object.values(signalKinds), "paused", "gate"];

/**
 * Logs an error for `doctor --last-error`. Never throws: a failure to log must not hide the error.
 * KB_KEEP_ERRORS=0 disables the log.
 */
export async function logError(
  failure: CliError,
  argv: readonly string[],
  log: RequestLog,
  host: Host,
): Promise<void> {
  if (!isOn(host.env["KB_KEEP_ERRORS"] || "1")) return;
  if (notFailures.includes(failure.kind) || failure.info.isResult || failure.message === "") return;
  const time = host.now();
  const entry: LoggedError = {
    time: time.toISOString(),
    program: `${argv[0]} ${version}`,
    platform: host.platform,
    command: argv.map((word) => truncate(MAX_WORD, redactText(word))).join(" "),
    error: errorJson(failure).error,
    sent: log.count,
    requests: log.attempts.map((each) => ({
      method: each.method,
      path: addressOf(each).replace(/^https?:\/\/[^/]+/, ""),
      status: each.status ?? null,
      failure: each.failure ?? null,
      ms: each.ms ?? null,
      waited_ms: each.waited ?? null,
    })),
    curl: curlOf(failedAttempt(log, failure), argv[0] === "wf" ? "app" : "dataset"),
    ...(failure.info.code === "bug" && { stack: causesOf(failure) }),
  };
  const json = host.secrets.masked(redactText(stringifyJson(entry)));
  await writeErrorLog(time, json, host).catch(() => {});
}

/** The attempt that failed, or else the last one. */
function failedAttempt({ attempts }: RequestLog, failure: CliError): Attempt | undefined {
  const response = failure instanceof ApiError ? failure.response : undefined;
  const matches = ({ method, url, status }: Attempt) =>
    method === response?.method && status === response.status && url.includes(response.path);
  return attempts.findLast(matches) ?? attempts.at(-1);
}

/** The URL of an attempt, with long query values truncated. */
function addressOf({ url }: Attempt): string {
  const [start = "", query] = url.split("?", 2);
  const parts = (query ?? "").split("&").map((part) => truncate(MAX_WORD, part));
  return redactText(query === undefined ? start : `${start}?${parts.join("&")}`);
}

function curlOf(failed: Attempt | undefined, kind: "app" | "dataset"): string | null {
  const request = failed?.request;
  if (!failed || !request) return null;
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      String(redactValue(value, name)),
    ]),
  );
  const shown = { ...request, url: addressOf(failed), headers, ...bodyOf(request) };
  return curlText(shown, kind).trimEnd();
}

/** The fields of a body, with lengths in place of values. */
function bodyOf({ body }: HttpRequest): Partial<HttpRequest> {
  if (body?.kind === "json") {
    return {
      body: { kind: "json", text: JSON.stringify(redactStructure(tryParseJson(body.text))) },
    };
  }
  if (body?.kind !== "form") return {};
  const parts = body.parts.map((part) =>
    "file" in part ? part : { ...part, text: String(redactStructure(part.text)) },
  );
  return { body: { kind: "form", parts } };
}
