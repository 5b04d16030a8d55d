import { ApiError } from "../errors.ts";
import type { FailureDetails, FailureKind, Refusal } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { isObject, parsedJson } from "../json.ts";

/** What came back instead of an answer. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** What was asked, as far as it helps to explain the refusal. `row` is absent for `api`. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly row?: AnyOperation | undefined;
  readonly writes: boolean;
}

/** Server texts echo what was sent: longer ones are cut (characters). */
const longestText = 500;

/** The hint wherever a write may have been done. */
export const lookFirst = "unknown whether it was applied: look at the thing before you repeat";

/**
 * ms that the server asks to wait, undefined where it says nothing that makes sense. A date counts
 * from the date of the answer: the clocks of two machines differ.
 */
export function askedWait(headers: RefusedAnswer["headers"]): number | undefined {
  const text = headers["retry-after"] ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const wait = Date.parse(text) - Date.parse(headers["date"] ?? "");
  return wait >= 0 ? wait : undefined;
}

/** What a refusal body says, whatever its shape (server §3). */
export interface Said {
  readonly code?: string;
  readonly message: string;
  /** The field a validation text names, with its reason. */
  readonly fields: readonly { readonly field: string; readonly reason: string }[];
  /** The body was JSON, so the application itself answered. */
  readonly json: boolean;
}

/** Reads every recorded shape of an error body; never throws. */
export function saidBy({ headers, text }: RefusedAnswer): Said {
  const body = parsedJson(text);
  if (!isObject(body)) {
    const html = (headers["content-type"] ?? "").includes("html") || text.startsWith("<");
    return { message: html ? "" : text.trim(), fields: [], json: false };
  }
  const code = typeof body["code"] === "string" ? { code: body["code"] } : {};
  const raw = body["message"] ?? body["error"] ?? "";
  const message = typeof raw === "string" ? raw : JSON.stringify(raw);
  const old = body["errors"]; // servers before 1.11.0: { errors: { name: reason }, message }
  if (isObject(old)) {
    const fields = Object.entries(old).map(([field, reason]) => ({
      field,
      reason: typeof reason === "string" ? reason : JSON.stringify(reason),
    }));
    return { ...code, message, fields, json: true };
  }
  const param = body["params"];
  if (typeof param === "string") {
    return { ...code, message, fields: [{ field: param, reason: message }], json: true };
  }
  return { ...code, message: withoutSuggestion(message), fields: fieldsOf(message), json: true };
}

/** The framework appends route suggestions to some 404 texts (server §3). */
const withoutSuggestion = (message: string) =>
  message.replace(/\.? ?You have requested this URI \[[\s\S]*$/, "");

/**
 * Field and reason of each error in a validation text: a field stands in column 0, its reason in
 * the indented line below, followed by a link (server §3).
 */
function fieldsOf(message: string): Said["fields"] {
  const lines = message.split("\n");
  if (!/^\d+ validation errors? for /.test(lines[0] ?? "")) return [];
  const fields: { field: string; reason: string }[] = [];
  let field = "";
  for (const line of lines.slice(1)) {
    if (line !== "" && !line.startsWith(" ")) {
      field = line.trim();
      continue;
    }
    const reason = line.trim();
    if (reason === "" || reason.startsWith("For further information")) continue;
    fields.push({
      field,
      reason: reason.replace(/ \[type=[\s\S]*$/, "").replace(/^Value error, /, ""),
    });
    field = "";
  }
  return fields;
}

/** A validation text that names a response model is the server's fault, after the work (server §3). */
const responseModel = /validation errors? for (?:list\[)?(?:\w*Response\w*|DataSetTag)\b/;

const tooManyRequests = /^Too many requests\. Please try again later\./;

/** Is it the refusal that means "not started": too many at once (server §4)? */
export const notStarted = (status: number, said: Said): boolean =>
  (status === 429 && said.code !== "rate_limit_error") ||
  (status === 400 && tooManyRequests.test(said.message));

/** The error for a refused request: kind, plain words, and what to do next. */
export function refusalOf(answer: RefusedAnswer, asked: Asked): ApiError {
  const said = saidBy(answer);
  const refusal: Refusal = {
    status: answer.status,
    serverCode: said.code,
    method: asked.method,
    path: asked.path,
    version: answer.headers["x-version"],
    requestId: answer.headers["x-request-id"],
    date: answer.headers["date"],
  };
  const { kind, text, ...told } = explain(answer, said, asked);
  const words = cut(text ?? plainWords(said));
  const label = cut([answer.status, said.code].filter((part) => part !== undefined).join(" "));
  return new ApiError(
    kind,
    words === "" ? `the server answered ${label}` : `${words} (${label})`,
    refusal,
    {
      code: kind,
      changed:
        asked.writes && answer.status < 500 ? "nothing" : asked.writes ? "unknown" : undefined,
      ...(said.fields.length > 0 && { details: { fields: said.fields } }),
      ...told,
    },
  );
}

const cut = (text: string) => (text.length > longestText ? `${text.slice(0, longestText)}…` : text);

function plainWords(said: Said): string {
  if (said.fields.length === 0) return said.message.trim();
  return said.fields
    .map(({ field, reason }) => (field === "" ? reason : `${field}: ${reason}`))
    .join("; ");
}

interface Explained extends FailureDetails {
  readonly kind: FailureKind;
  /** Replaces the server's words where it has none, or poor ones. */
  readonly text?: string;
}

/** Codes that mean a key fits another kind of application (server §15.1, §16). */
const wrongApp = new Set([
  "not_workflow_app",
  "not_chat_app",
  "not_completion_app",
  "app_unavailable",
  "agent_not_published",
]);

/** Codes that mean a quota is used up. */
const quota = new Set([
  "provider_quota_exceeded",
  "rate_limit_error",
  "workflow_version_execution_not_allowed",
]);

function explain(answer: RefusedAnswer, said: Said, asked: Asked): Explained {
  const { status, headers } = answer;
  const version = headers["x-version"];
  if (status >= 300 && status < 400) {
    return {
      kind: "unsupported",
      text: `the server redirects to ${headers["location"] ?? "another address"}; redirects are never followed`,
      hint: "check the base URL: it ends in /v1 and has the host of the API itself",
    };
  }
  if (notStarted(status, said)) {
    return {
      kind: "limited",
      retryable: true,
      changed: asked.writes ? "nothing" : undefined,
      hint: `wait${seconds(askedWait(headers))} and repeat, or lower --concurrency`,
    };
  }
  if (status === 429 || (said.code !== undefined && quota.has(said.code))) {
    return { kind: "limited", hint: "a quota is used up; repeating does not help" };
  }
  if (status === 401) {
    return {
      kind: "auth",
      hint: `check the key: this command takes ${keyName(asked)}; \`doctor\` tells what a key is`,
    };
  }
  if (status === 403) return forbidden(said);
  if (status === 404 && said.json) return { kind: "not-found" };
  if (status === 404 || (status === 405 && said.json)) return missingRoute(answer, asked);
  if (status === 414) {
    return { kind: "refused", text: "the request line is too long for the server (about 8 kB)" };
  }
  if (status === 413 && !said.json) {
    return { kind: "refused", text: "the body is larger than the proxy before the server takes" };
  }
  if (status === 501) return { kind: "unsupported" };
  if (status >= 500) {
    const proxy = version === undefined;
    return {
      kind: "failure",
      retryable: true,
      ...(said.message === "" && {
        text: proxy ? "a proxy before the server answered with an error page" : "the server failed",
      }),
      hint: asked.writes ? lookFirst : "repeat later; if it stays, ask the operator of the server",
    };
  }
  if (responseModel.test(said.message)) {
    return {
      kind: "failure",
      text: `the server could not print its own answer: ${plainWords(said)}`,
      changed: asked.writes ? "unknown" : undefined,
      hint: asked.writes
        ? lookFirst
        : "one stored object does not fit the server's own rules; ask its operator",
    };
  }
  if (said.code !== undefined && wrongApp.has(said.code)) {
    return {
      kind: "unsupported",
      hint: "`wf app info` shows what kind of application this key opens",
    };
  }
  if (said.json && said.message === "") {
    return {
      kind: "refused",
      text: "the server gives no reason; with a file this means too large or a kind it does not take",
    };
  }
  return { kind: status === 404 ? "not-found" : "refused" };
}

const seconds = (ms: number | undefined) => (ms === undefined ? "" : ` ${Math.ceil(ms / 1000)} s`);

const keyName = (asked: Asked) =>
  asked.row === undefined
    ? "the key of its kind"
    : asked.row.key === "dataset"
      ? "a knowledge key (dataset-…)"
      : "an application key (app-…)";

/** One status for four reasons; only the text tells (server §4). */
function forbidden(said: Said): Explained {
  if (/request rate limit/.test(said.message)) {
    return {
      kind: "limited",
      retryable: true,
      hint: "wait at least 60 seconds; refused requests count too",
    };
  }
  if (
    /has reached the limit|To unlock this feature/.test(said.message) ||
    (said.code !== undefined && quota.has(said.code))
  ) {
    return { kind: "limited", hint: "the plan of the workspace is used up" };
  }
  if (said.code === "archived_document_immutable") {
    return { kind: "refused", hint: "unarchive it first: kb doc unarchive <kb> <doc>" };
  }
  return {
    kind: "auth",
    hint: "access is switched off or not allowed for this key; see the application's or knowledge base's API settings",
  };
}

/** A route this server does not have: an older server, or not the service at all (server §19). */
function missingRoute({ headers }: RefusedAnswer, asked: Asked): Explained {
  const version = headers["x-version"];
  if (version === undefined) {
    return {
      kind: "unsupported",
      text: "this is not the API: the answer is a web page",
      hint: "check the base URL: it ends in /v1, as in https://example.com/v1",
    };
  }
  const since = asked.row?.since;
  if (since !== undefined && olderThan(version, since)) {
    return {
      kind: "unsupported",
      text: `the server is ${version}; this needs ${since} or newer`,
      hint: "update the server",
    };
  }
  return {
    kind: "unsupported",
    text: `the server (${version}) does not know ${asked.method} ${asked.path}`,
    hint: "check the path, and that ids in it are UUIDs",
  };
}

/** Is version `a` lower than `b`? Compares numbers, ignores suffixes. */
export function olderThan(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) =>
    text.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0),
  );
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
