import { ApiError } from "../errors.ts";
import type { ErrorInfo, FailureKind, ServerRejection } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { plainMessage, parseErrorBody } from "./error-body.ts";
import type { ErrorResponse, ErrorBody } from "./error-body.ts";

/** The request, as far as it helps to explain the error. `row` is absent for `api`. */
export interface RequestContext {
  readonly method: string;
  readonly path: string;
  readonly row?: AnyOperation | undefined;
  readonly writes: boolean;
  /** Name of the file that was sent, if any. */
  readonly file?: string | undefined;
}

/** Server texts echo what was sent: longer ones are cut (characters). */
const longestText = 500;

/** The hint wherever a write may have been done. */
export const checkBeforeRetrying = "the change may have been applied; check before retrying";

/**
 * ms that the server asks to wait, undefined where it says nothing that makes sense. A date counts
 * from the date of the answer: the clocks of two machines differ.
 */
export function retryAfterOf(headers: ErrorResponse["headers"]): number | undefined {
  const text = headers["retry-after"] ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const wait = Date.parse(text) - Date.parse(headers["date"] ?? "");
  return wait >= 0 ? wait : undefined;
}

/** A validation text that names a response model is the server's fault, after the work (server §3). */
const responseModel = /validation errors? for (?:list\[)?(?:\w*Response\w*|DataSetTag)\b/;

const tooManyRequests = /^Too many requests\. Please try again later\./;

/**
 * Is it the refusal that means "not started": too many at once (server §4), or a 503 of the server
 * itself, which could not check something first? One of a proxy may come after the work.
 */
export const isNotStarted = (status: number, said: ErrorBody): boolean =>
  (status === 429 && said.code !== "rate_limit_error") ||
  (status === 503 && said.code !== undefined) ||
  (status === 400 && tooManyRequests.test(said.message));

/** The error for a refused request: kind, plain words, and what to do next. */
export function apiErrorOf(answer: ErrorResponse, asked: RequestContext): ApiError {
  const said = parseErrorBody(answer);
  const refusal: ServerRejection = {
    status: answer.status,
    serverCode: said.code,
    method: asked.method,
    path: asked.path,
    version: answer.headers["x-version"],
    requestId: answer.headers["x-request-id"],
    date: answer.headers["date"],
  };
  const { kind, text, ...info } = explain(answer, said, asked);
  const words = cut(text ?? plainMessage(said));
  const label = cut([answer.status, said.code].filter((part) => part !== undefined).join(" "));
  return new ApiError(
    kind,
    words === "" ? `the server answered ${label}` : `${words} (${label})`,
    refusal,
    {
      code: kind,
      sideEffect:
        asked.writes && answer.status < 500 ? "none" : asked.writes ? "unknown" : undefined,
      ...detailsOf(said),
      ...info,
    },
  );
}

const cut = (text: string) => (text.length > longestText ? `${text.slice(0, longestText)}…` : text);

/** For programs: the fields, and a body that is not the server's own as it came. */
function detailsOf({ fields, foreign }: ErrorBody): Pick<ErrorInfo, "details"> {
  const details = {
    ...(fields.length > 0 && { fields }),
    ...(foreign !== undefined && { response: foreign }),
  };
  return Object.keys(details).length > 0 ? { details } : {};
}

interface Explained extends ErrorInfo {
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
const quota = new Set(["rate_limit_error", "workflow_version_execution_not_allowed"]);
/** Newer servers have further ones; their names are not known yet (server §4). */
const isQuota = ({ code = "" }: ErrorBody) =>
  quota.has(code) || /(^|_)(quota|credits?|billing|subscription)(_|$)/.test(code);

function explain(answer: ErrorResponse, said: ErrorBody, asked: RequestContext): Explained {
  const { status, headers } = answer;
  const version = headers["x-version"];
  if (status >= 300 && status < 400) {
    return {
      kind: "unsupported",
      text: `the server redirects to ${headers["location"] ?? "another address"}; redirects are never followed`,
      hint: "check the base URL: it ends in /v1 and has the host of the API itself",
    };
  }
  if (status === 503 && isNotStarted(status, said)) {
    return {
      kind: "failure",
      retryable: true,
      sideEffect: asked.writes ? "none" : undefined,
      text: serverWords(said),
      hint: `wait${seconds(retryAfterOf(headers))} and retry`,
    };
  }
  if (isNotStarted(status, said)) {
    return {
      kind: "limited",
      retryable: true,
      sideEffect: asked.writes ? "none" : undefined,
      hint: `wait${seconds(retryAfterOf(headers))} and repeat, or lower --concurrency`,
    };
  }
  if (status === 429 || status === 402 || isQuota(said)) {
    return { kind: "limited", hint: "a quota is used up; repeating does not help" };
  }
  if (status === 401) {
    return {
      kind: "auth",
      hint: `check the key: this command takes ${keyName(asked)}; \`doctor\` tells what a key is`,
    };
  }
  if (status === 403) return forbidden(said, asked);
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
      text:
        said.message === "" && proxy
          ? "a proxy before the server answered with an error page"
          : serverWords(said),
      hint: asked.writes
        ? checkBeforeRetrying
        : "repeat later; if it stays, ask the operator of the server",
    };
  }
  if (responseModel.test(said.message)) {
    return {
      kind: "failure",
      text: `the server could not print its own answer: ${plainMessage(said)}`,
      sideEffect: asked.writes ? "unknown" : undefined,
      hint: asked.writes ? checkBeforeRetrying : unprintable(asked),
    };
  }
  if (said.code !== undefined && wrongApp.has(said.code)) {
    return {
      kind: "unsupported",
      hint: "`wf app info` shows what kind of application this key opens",
    };
  }
  return { kind: status === 404 ? "not-found" : "refused", ...rejected(status, said, asked) };
}

/** An error of the server itself in words; "Internal Server Error" says it already. */
function serverWords(said: ErrorBody): string {
  const words = plainMessage(said);
  if (words === "") return "the server failed";
  return /server error/i.test(words) ? words : `server error: ${words}`;
}

const unprintable = ({ path }: RequestContext) =>
  path.endsWith("/datasets")
    ? "one knowledge base, perhaps an external one, breaks the list on this server version; by their ids the others work"
    : "one stored object does not fit the server's own rules; ask its operator";

/** A request that the server rejected: the file that was sent, a model that failed, or no reason. */
function rejected(status: number, said: ErrorBody, asked: RequestContext): Partial<Explained> {
  const words = plainMessage(said);
  if (asked.file !== undefined && said.json && said.code !== "request_entity_too_large") {
    const why = words || fileReasons[status] || unknownFileReason;
    if (words === "" || status in fileReasons) {
      return { text: `${JSON.stringify(asked.file)} was rejected: ${why}` };
    }
  }
  if (words === "" && said.json) return { text: "the server gives no reason" };
  // The server says "by another user" to the one who submitted it, too (server §14).
  if (said.code === "human_input_form_submitted") {
    return {
      text: "the form is already submitted",
      hint: "`wf logs` shows what became of its run",
    };
  }
  if (missingIndex.test(said.message)) {
    return {
      text: "the knowledge base has no indexed documents for this search method",
      hint: "`kb doc list` shows its documents; without a model, search with keyword_search",
    };
  }
  return modelFailed(said) ? { hint: modelHint } : {};
}

const fileReasons: Readonly<Record<number, string>> = {
  413: "it is too large",
  415: "the server does not take files of this type",
};
const unknownFileReason = "it is too large, or of a type that the server does not take";

/** The table of vectors of a knowledge base, which is made with its first document (server §8). */
const missingIndex = /^relation "embedding_vector_index_\w+" does not exist/i;

/** Codes of errors that come from a model or its provider. */
const modelCodes = new Set([
  "completion_request_error",
  "provider_not_initialize",
  "model_currently_not_support",
  "dataset_not_initialized",
]);

/** Most errors of models have the code of any wrong value; only their text tells (server §17). */
const modelTexts =
  /rate limit|PluginInvokeError|plugin daemon|PluginDaemon|credentials (is|are)? ?not|model credentials|api key|context length|overloaded|connection refused|internal server error-|^model |default model|^run failed:/i;

const modelFailed = ({ code = "", message, fields }: ErrorBody): boolean =>
  modelCodes.has(code) ||
  (code === "invalid_param" && fields.length === 0 && modelTexts.test(message));

const modelHint =
  "this is probably the model or its provider, not the request: check the model's settings in the workspace, or retry later";

const seconds = (ms: number | undefined) => (ms === undefined ? "" : ` ${Math.ceil(ms / 1000)} s`);

const keyName = (asked: RequestContext) =>
  asked.row === undefined
    ? "the key of its kind"
    : asked.row.key === "dataset"
      ? "a knowledge key (dataset-…)"
      : "an application key (app-…)";

/** One status for four reasons; only the text tells (server §4). */
function forbidden(said: ErrorBody, { row, path }: RequestContext): Explained {
  if (/request rate limit/.test(said.message)) {
    return {
      kind: "limited",
      retryable: true,
      hint: "wait at least 60 seconds; refused requests count too",
    };
  }
  if (/has reached the limit|To unlock this feature/.test(said.message)) {
    return { kind: "limited", hint: "the plan of the workspace is used up" };
  }
  if (said.code === "archived_document_immutable") {
    const [, kb, doc] = /\/datasets\/([^/]+)\/documents\/([^/]+)/.exec(path) ?? [];
    const line = kb === undefined ? "kb doc unarchive" : `kb doc unarchive ${kb} ${doc}`;
    return { kind: "refused", hint: `unarchive it first: ${line}` };
  }
  return { kind: "auth", hint: row?.key === "dataset" ? baseHint(row) : appHint };
}

const appHint =
  "access is switched off or not allowed for this key; see the application's or knowledge base's API settings";

/** A knowledge key may open only some knowledge bases, and no route of all of them (server §2). */
const baseHint = ({ route }: AnyOperation) =>
  route.includes("{dataset_id}")
    ? "the key may open other knowledge bases only, or API access of this one is switched off"
    : someBases;

/** What to do with a key that opens no list. */
export const someBases =
  "the key may open only some knowledge bases: set KB_DATASET_IDS to their ids, or kb profile add <name> --kb <name>=<id>";

/** A route this server does not have: an older server, or not the service at all (server §19). */
function missingRoute({ headers }: ErrorResponse, asked: RequestContext): Explained {
  const version = headers["x-version"];
  if (version === undefined) {
    return {
      kind: "unsupported",
      text: "this is not the API: the answer is a web page",
      hint: "check the base URL: it ends in /v1, as in https://example.com/v1",
    };
  }
  const since = asked.row?.since;
  if (since !== undefined && isOlderThan(version, since)) {
    return {
      kind: "unsupported",
      text: `the server is ${version}; this needs ${since} or newer`,
      hint: "update the server",
    };
  }
  return {
    kind: "unsupported",
    text: `the server (${version}) does not know ${asked.method} ${asked.path}`,
    hint: /^\/(.*\/)?v1\//.test(asked.path)
      ? "check the path, and that ids in it are UUIDs"
      : "check the base URL: the API of a server is below /v1, as in https://example.com/v1",
  };
}

/** Is version `a` lower than `b`? Compares numbers, ignores suffixes. */
export function isOlderThan(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) =>
    text.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0),
  );
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
