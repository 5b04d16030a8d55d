import type { HttpRequest } from "../../api/request.ts";
import { writeErrorLog } from "../../host/error-log.ts";
import type { LoggedError } from "../../host/error-log.ts";
import { truncate, redactText, redactValue } from "../../redact/text.ts";
import { redactStructure } from "../../redact/recordings.ts";
import { ApiError, signalKinds } from "../../errors.ts";
import type { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { parsedJson } from "../../lib/json.ts";
import { version } from "../../lib/version.ts";
import { isOn } from "../../lib/env-flag.ts";
import { curlText } from "../execute/dry-run.ts";
import { errorJson, causesOf } from "./error-text.ts";
import type { RequestLog, Attempt } from "../trace/request-log.ts";

/** Characters of one word of the command line, or of one value of an address, that are kept. */
const longestWord = 60;

/** Ends that are no failure: somebody stopped it, or it is the result that was asked for. */
const results: readonly string[] = [...Object.values(signalKinds), "paused", "gate"];

/**
 * Keeps a failure for `doctor --last-error`. Never throws: a folder that cannot be written is no
 * reason to say more than the error. KB_KEEP_ERRORS=0 keeps none.
 */
export async function logError(
  failure: CliError,
  argv: readonly string[],
  trail: RequestLog,
  host: Host,
): Promise<void> {
  if (!isOn(host.env["KB_KEEP_ERRORS"] || "1")) return;
  if (results.includes(failure.kind) || failure.info.isResult || failure.message === "") return;
  const time = host.now();
  const kept: LoggedError = {
    time: time.toISOString(),
    program: `${argv[0]} ${version}`,
    platform: host.platform,
    command: argv.map((word) => truncate(longestWord, redactText(word))).join(" "),
    error: errorJson(failure).error,
    sent: trail.count,
    requests: trail.tries.map((each) => ({
      method: each.method,
      path: addressOf(each).replace(/^https?:\/\/[^/]+/, ""),
      status: each.status ?? null,
      failure: each.failure ?? null,
      ms: each.ms ?? null,
      waited_ms: each.waited ?? null,
    })),
    curl: curlOf(failedIn(trail, failure), argv[0] === "wf" ? "app" : "dataset"),
    ...(failure.info.code === "bug" && { stack: causesOf(failure) }),
  };
  const json = host.secrets.masked(redactText(JSON.stringify(kept)));
  await writeErrorLog(time, json, host).catch(() => {});
}

/** The try that the failure is about, the last one where that cannot be told. */
function failedIn({ tries }: RequestLog, failure: CliError): Attempt | undefined {
  const refusal = failure instanceof ApiError ? failure.response : undefined;
  const fits = ({ method, url, status }: Attempt) =>
    method === refusal?.method && status === refusal.status && url.includes(refusal.path);
  return tries.findLast(fits) ?? tries.at(-1);
}

/** Where a try went, what was typed into it shortened. */
function addressOf({ url }: Attempt): string {
  const [start = "", query] = url.split("?", 2);
  const parts = (query ?? "").split("&").map((part) => truncate(longestWord, part));
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

/** The fields of a body, with lengths in place of what they hold. */
function bodyOf({ body }: HttpRequest): Partial<HttpRequest> {
  if (body?.kind === "json") {
    return { body: { kind: "json", text: JSON.stringify(redactStructure(parsedJson(body.text))) } };
  }
  if (body?.kind !== "form") return {};
  const parts = body.parts.map((part) =>
    "file" in part ? part : { ...part, text: String(redactStructure(part.text)) },
  );
  return { body: { kind: "form", parts } };
}
