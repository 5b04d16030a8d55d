import { readErrorLog } from "../../../host/error-log.ts";
import type { LoggedError, LoggedRequest } from "../../../host/error-log.ts";
import type { Context } from "../../task/command-spec.ts";

/** `doctor --last-error n`: the nth last logged error, as text or as data. Sends nothing. */
export async function* lastError(n: number, context: Context): AsyncGenerator<unknown> {
  const log = await readErrorLog(context.host);
  const error = log[n - 1];
  const asText = context.options.format === undefined;
  if (error) yield asText ? errorText(error) : error;
  else if (!asText) yield null;
  else if (log.length === 0) await context.notice("no errors logged");
  else await context.notice(`only ${log.length} errors logged`);
}

function errorText({ error, ...logged }: LoggedError): string {
  const field = (name: string, label = name.replace("_", " ")) =>
    error[name] === null || error[name] === undefined ? [] : [`${label} ${String(error[name])}`];
  const facts = [
    ...field("code"),
    ...field("exit"),
    ...field("http_status", "status"),
    ...field("server_code"),
    ...field("request_id"),
  ];
  const { requests, sent, curl } = logged;
  return [
    `${logged.time}  ${logged.program}, ${logged.platform}`,
    `command: ${logged.command}`,
    `error: ${String(error["message"])}`,
    `  ${facts.join(", ")}`,
    ...field("hint", "hint:"),
    `requests: ${sent}${sent > requests.length ? `, the last ${requests.length}:` : ""}`,
    ...requests.map(requestText),
    ...(curl === null ? [] : ["the failed request, with its key in a variable:", `  ${curl}`]),
    ...(logged.stack ?? []),
  ].join("\n");
}

function requestText({ method, path, status, failure, ms, waited_ms }: LoggedRequest): string {
  const result = status ?? `no response (${failure ?? "canceled"})`;
  const wait = waited_ms === null ? "" : `, then waited ${Math.round(waited_ms)} ms`;
  return `  ${method} ${path}: ${result} in ${ms ?? "?"} ms${wait}`;
}
