import type { HttpRequest } from "../api/request.ts";
import { keepFailure } from "../commands/kept-failures.ts";
import type { KeptFailure } from "../commands/kept-failures.ts";
import { cutTo, maskedText, maskedValue } from "../commands/masking.ts";
import { structureOf } from "../commands/redaction.ts";
import { ApiError, signalKinds } from "../errors.ts";
import type { CliError } from "../errors.ts";
import type { Host } from "../host.ts";
import { parsedJson } from "../json.ts";
import { version } from "../version.ts";
import { isOn } from "../is-on.ts";
import { curlText } from "./dry-run.ts";
import { asJson, causesOf } from "./failure.ts";
import type { Trail, Try } from "./trail.ts";

/** Characters of one word of the command line, or of one value of an address, that are kept. */
const longestWord = 60;

/** Ends that are no failure: somebody stopped it, or it is the result that was asked for. */
const results: readonly string[] = [...Object.values(signalKinds), "paused", "gate"];

/**
 * Keeps a failure for `doctor --last-error`. Never throws: a folder that cannot be written is no
 * reason to say more than the error. KB_KEEP_ERRORS=0 keeps none.
 */
export async function keep(
  failure: CliError,
  argv: readonly string[],
  trail: Trail,
  host: Host,
): Promise<void> {
  if (!isOn(host.env["KB_KEEP_ERRORS"] || "1")) return;
  if (results.includes(failure.kind) || failure.told.verdict || failure.message === "") return;
  const time = host.now();
  const kept: KeptFailure = {
    time: time.toISOString(),
    program: `${argv[0]} ${version}`,
    platform: host.platform,
    command: argv.map((word) => cutTo(longestWord, maskedText(word))).join(" "),
    error: asJson(failure).error,
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
    ...(failure.told.code === "bug" && { stack: causesOf(failure) }),
  };
  const json = host.secrets.masked(maskedText(JSON.stringify(kept)));
  await keepFailure(time, json, host).catch(() => {});
}

/** The try that the failure is about, the last one where that cannot be told. */
function failedIn({ tries }: Trail, failure: CliError): Try | undefined {
  const refusal = failure instanceof ApiError ? failure.refusal : undefined;
  const fits = ({ method, url, status }: Try) =>
    method === refusal?.method && status === refusal.status && url.includes(refusal.path);
  return tries.findLast(fits) ?? tries.at(-1);
}

/** Where a try went, what was typed into it shortened. */
function addressOf({ url }: Try): string {
  const [start = "", query] = url.split("?", 2);
  const parts = (query ?? "").split("&").map((part) => cutTo(longestWord, part));
  return maskedText(query === undefined ? start : `${start}?${parts.join("&")}`);
}

function curlOf(failed: Try | undefined, kind: "app" | "dataset"): string | null {
  const request = failed?.request;
  if (!failed || !request) return null;
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      String(maskedValue(value, name)),
    ]),
  );
  const shown = { ...request, url: addressOf(failed), headers, ...bodyOf(request) };
  return curlText(shown, kind).trimEnd();
}

/** The fields of a body, with lengths in place of what they hold. */
function bodyOf({ body }: HttpRequest): Partial<HttpRequest> {
  if (body?.kind === "json") {
    return { body: { kind: "json", text: JSON.stringify(structureOf(parsedJson(body.text))) } };
  }
  if (body?.kind !== "form") return {};
  const parts = body.parts.map((part) =>
    "file" in part ? part : { ...part, text: String(structureOf(part.text)) },
  );
  return { body: { kind: "form", parts } };
}
