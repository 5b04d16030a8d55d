import { readErrorLog } from "../../../host/error-log.ts";
import type { LoggedError } from "../../../host/error-log.ts";
import type { Context } from "../../command-spec.ts";

/** The n-th last failure that was kept, from 1: in words, or as it is for programs. Sends nothing. */
export async function* lastError(n: number, context: Context): AsyncGenerator<unknown> {
  const kept = await readErrorLog(context.host);
  const failure = kept[n - 1];
  const forPeople = context.options.format === undefined;
  if (failure) yield forPeople ? inWords(failure) : failure;
  else if (forPeople) {
    await context.notice(
      kept.length === 0 ? "no failure is kept" : `${kept.length} failures are kept, not ${n}`,
    );
  } else yield null;
}

function inWords({ error, ...kept }: LoggedError): string {
  const given = (name: string, label = name.replace("_", " ")) =>
    error[name] === null || error[name] === undefined ? [] : [`${label} ${String(error[name])}`];
  const facts = [
    ...given("code"),
    ...given("exit"),
    ...given("http_status", "status"),
    ...given("server_code"),
    ...given("request_id"),
  ];
  return [
    `${kept.time}  ${kept.program}, ${kept.platform}`,
    `command: ${kept.command}`,
    `error: ${String(error["message"])}`,
    `  ${facts.join(", ")}`,
    ...given("hint", "hint:"),
    `requests: ${kept.sent}${kept.sent > kept.requests.length ? `, the last ${kept.requests.length}:` : ""}`,
    ...kept.requests.map(({ method, path, status, failure, ms, waited_ms }) => {
      const end = status ?? `no answer (${failure ?? "it was left"})`;
      const waited = waited_ms === null ? "" : `, then ${Math.round(waited_ms)} ms waited`;
      return `  ${method} ${path}: ${end} in ${ms ?? "?"} ms${waited}`;
    }),
    ...(kept.curl === null ? [] : ["the request, its key in a variable:", `  ${kept.curl}`]),
    ...(kept.stack ?? []),
  ].join("\n");
}
