import { ApiError } from "../errors.ts";
import type { ErrorInfo, FailureKind, ServerResponse } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { CHECK_BASE_URL, NOT_API } from "./request.ts";
import { isNotStarted, parseErrorBody, plainMessage, retryAfterOf } from "./error-body.ts";
import type { ErrorResponse, ErrorBody } from "./error-body.ts";
import { meaningOf } from "./error-codes.ts";
import { commandLine } from "../lib/command-line.ts";
import { shortened } from "../lib/text.ts";
import { atLeast } from "../lib/version.ts";

/** The request that failed. `row` is absent for `api`. */
export interface RequestContext {
  readonly method: string;
  readonly path: string;
  readonly row?: AnyOperation | undefined;
  readonly writes: boolean;
  /** Name of the uploaded file, if any. */
  readonly file?: string | undefined;
}

/** Server texts echo the request, so longer ones are truncated (characters). */
const MAX_TEXT = 500;

/** The hint wherever a write may have been applied. */
export const checkBeforeRetrying = "the change may have been applied; check before retrying";

/** A validation text that names a response model is the server's fault, after the work (server §3). */
const responseModel = /validation errors? for (?:list\[)?(?:\w*Response\w*|DataSetTag)\b/;

/** The error for an error response: kind, message and hint. */
export function apiErrorOf(response: ErrorResponse, context: RequestContext): ApiError {
  const body = parseErrorBody(response);
  const details: ServerResponse = {
    status: response.status,
    serverCode: body.code,
    method: context.method,
    path: context.path,
    version: response.headers["x-version"],
    requestId: response.headers["x-request-id"],
    date: response.headers["date"],
  };
  const { kind, text, ...info } = explain(response, body, context);
  const words = shortened(text ?? plainMessage(body), MAX_TEXT);
  const code = [response.status, body.code].filter((part) => part !== undefined).join(" ");
  const label = shortened(code, MAX_TEXT);
  return new ApiError(
    kind,
    words === "" ? `the server returned ${label}` : `${words} (${label})`,
    details,
    { code: kind, sideEffect: sideEffectOf(response.status, context), ...detailsOf(body), ...info },
  );
}

function sideEffectOf(status: number, { writes }: RequestContext): ErrorInfo["sideEffect"] {
  if (!writes) return undefined;
  return status < 500 ? "none" : "unknown";
}

/** For programs: invalid fields, and a body that does not have the server's own shape. */
function detailsOf({ fields, foreign }: ErrorBody): Pick<ErrorInfo, "details"> {
  if (fields.length === 0 && foreign === undefined) return {};
  return {
    details: {
      ...(fields.length > 0 && { fields }),
      ...(foreign !== undefined && { response: foreign }),
    },
  };
}

interface Explanation extends ErrorInfo {
  readonly kind: FailureKind;
  /** Replaces the server's message where it is missing or unclear. */
  readonly text?: string;
}

/** Codes of exceeded quotas; newer servers have further ones (server §4). */
const quotaCodes =
  /^workflow_version_execution_not_allowed$|^rate_limit_error$|(^|_)(quota|credits?|billing|subscription)(_|$)/;

/** Whether a code means an exceeded quota, in a response or in an `error` event. */
export const isQuotaCode = (code: string): boolean => quotaCodes.test(code);

/** Kinds of applications by the code for the key of another (server §15.1, §16): the command of each, and what it is for. */
const kindsByCode = {
  not_workflow_app: { noun: "a workflow", command: `a workflow: ${commandLine("wf run")}` },
  not_chat_app: {
    noun: "a chat application",
    command: `a chat application: ${commandLine("wf chat send", ["hello"])}`,
  },
  not_completion_app: {
    noun: "a text generation application",
    command: `text generation: ${commandLine("wf text create", [], { query: "hello" })}`,
  },
};

/** What the server means by these codes. */
const wrongApps = new Map<string, Pick<Explanation, "text" | "hint">>([
  ...Object.entries(kindsByCode).map(([code, kind]) => {
    const others = Object.values(kindsByCode).filter((each) => each !== kind);
    const hint = `${others.map(({ command }) => command).join(", ")}; or select another with --app`;
    return [code, { text: `this needs the key of ${kind.noun}`, hint }] as const;
  }),
  ["app_unavailable", {}],
  ["agent_not_published", {}],
]);

function explain(response: ErrorResponse, body: ErrorBody, context: RequestContext): Explanation {
  const { status, headers } = response;
  const { code = "", json } = body;
  if (status >= 300 && status < 400) {
    return {
      kind: "unsupported",
      text: `the server redirects to ${headers["location"] ?? "another address"}; redirects are never followed`,
      hint: "check the host of the base URL, and that it ends in /v1",
    };
  }
  if (isNotStarted(status, body)) return notStarted(response, body, context);
  if (status === 429 || status === 402 || isQuotaCode(code)) {
    return { kind: "limited", hint: "quota exceeded; retrying will not help" };
  }
  const known = status < 500 ? meaningOf(body) : undefined;
  if (known) return known;
  if (status === 401) {
    return {
      kind: "auth",
      hint: `check the key: this command needs ${keyName(context)}; run ${commandLine(`${programOf(context)} doctor`)} to see what a key is for`,
    };
  }
  if (status === 403) return forbidden(body, context);
  if (status === 404 && json) return { kind: "not-found" };
  if (status === 404 || (status === 405 && json)) return missingRoute(response, context);
  if (status === 414) {
    return { kind: "refused", text: "the URL is too long for the server (about 8 kB)" };
  }
  if (status === 413 && !json) {
    return { kind: "refused", text: "request body too large for the proxy" };
  }
  if (status === 501) return { kind: "unsupported" };
  if (status >= 500) return serverError(headers["x-version"], body, context);
  if (responseModel.test(body.message)) return unprintable(body, context);
  const wrongApp = wrongApps.get(code);
  if (wrongApp) {
    return {
      kind: "unsupported",
      ...wrongApp,
      hint:
        wrongApp.hint ??
        `${commandLine("wf app info")} shows the type of this one, and ${commandLine("wf profile show")} the others: select one with --app`,
    };
  }
  return { kind: "refused", ...rejected(status, body, context) };
}

/** The server is busy, or not yet ready. */
function notStarted(
  { status, headers }: ErrorResponse,
  body: ErrorBody,
  { writes }: RequestContext,
): Explanation {
  const ms = retryAfterOf(headers);
  const hint = `wait${ms === undefined ? "" : ` ${Math.ceil(ms / 1000)} s`} and retry`;
  const harmless = { retryable: true, sideEffect: writes ? "none" : undefined } as const;
  return status === 503
    ? { kind: "failure", ...harmless, text: serverWords(body), hint }
    : { kind: "limited", ...harmless, hint: `${hint}, or lower --concurrency` };
}

function serverError(
  version: string | undefined,
  body: ErrorBody,
  { writes }: RequestContext,
): Explanation {
  const byProxy = version === undefined && body.message === "";
  return {
    kind: "failure",
    retryable: true,
    text: byProxy ? "the proxy returned an error page" : serverWords(body),
    hint: writes
      ? checkBeforeRetrying
      : "retry later; if it fails again, contact the operator of the server",
  };
}

/** The message of a server error, prefixed unless it already contains "server error". */
function serverWords(body: ErrorBody): string {
  const words = plainMessage(body);
  if (words === "") return "the server failed";
  return /server error/i.test(words) ? words : `server error: ${words}`;
}

/** The server did the work, but could not build its response. */
function unprintable(body: ErrorBody, { writes, path }: RequestContext): Explanation {
  const hint = path.endsWith("/datasets")
    ? "one knowledge base, perhaps an external one, breaks the list on this server version; the others work by ID"
    : "one stored object violates the server's own rules; contact its operator";
  return {
    kind: "failure",
    text: `the server failed to build its response: ${plainMessage(body)}`,
    sideEffect: writes ? "unknown" : undefined,
    hint: writes ? checkBeforeRetrying : hint,
  };
}

const fileReasons: Readonly<Record<number, string>> = {
  413: "file too large",
  415: "file type not supported by the server",
};

const rewriting = `index the documents again: ${commandLine("kb update", ["KB"], { rewrite: true })}`;

const rejections: readonly (Partial<Explanation> & {
  readonly matches: (body: ErrorBody) => boolean;
})[] = [
  {
    // The server also says "by another user" to the user who submitted it (server §14).
    matches: ({ code }) => code === "human_input_form_submitted",
    text: "the form is already submitted",
    hint: `${commandLine("wf logs")} shows the status of its run`,
  },
  {
    // The vector table of a knowledge base is created with its first document (server §8).
    matches: ({ message }) =>
      /^relation "embedding_vector_index_\w+" does not exist/i.test(message),
    text: "the knowledge base has no indexed documents for this search method",
    hint: `without documents (${commandLine("kb doc list", ["KB"])}), or with economy indexing, use keyword_search; after a change to high_quality, ${rewriting}`,
  },
  {
    // The index has vectors of an earlier embedding model (server §8).
    matches: ({ message }) => /^different vector dimensions/i.test(message),
    hint: `the documents were indexed with another embedding model: ${rewriting}`,
  },
  {
    // The lock of a status change ends after ten minutes at the latest (server §9.7).
    matches: ({ code, message }) =>
      code === "invalid_action" && message.endsWith(" is being indexed, please try again later"),
    hint: "an earlier change of its status can lock a document for ten minutes: wait that long and run the same command again",
  },
  {
    matches: modelFailed,
    hint: "the model or its provider probably failed: check the model's settings in the workspace, or retry later",
  },
];

const modelCodes =
  /^(completion_request_error|provider_not_initialize|model_currently_not_support|dataset_not_initialized)$/;

/** Most model errors have the code of any invalid value; only their text differs (server §17). */
const modelTexts =
  /rate limit|PluginInvokeError|plugin daemon|PluginDaemon|credentials (is|are)? ?not|model credentials|api key|context length|overloaded|connection refused|internal server error-|^model |default model|^run failed:/i;

function modelFailed({ code = "", message, fields }: ErrorBody): boolean {
  if (modelCodes.test(code)) return true;
  return code === "invalid_param" && fields.length === 0 && modelTexts.test(message);
}

/** A rejected request: the uploaded file, a failed model, or no reason given. */
function rejected(status: number, body: ErrorBody, { file }: RequestContext): Partial<Explanation> {
  const words = plainMessage(body);
  const isAboutFile = words === "" || status in fileReasons;
  if (file !== undefined && isAboutFile && body.json && body.code !== "request_entity_too_large") {
    const unknown = "file too large, or type not supported by the server";
    return {
      text: `the file was rejected: ${words || (fileReasons[status] ?? unknown)}`,
    };
  }
  if (words === "" && body.json) return { text: "the server gave no reason" };
  const { matches: _, ...known } = rejections.find((each) => each.matches(body)) ?? {};
  return known;
}

const programOf = ({ row }: RequestContext) => (row?.key === "app" ? "wf" : "kb");

function keyName({ row }: RequestContext): string {
  if (row === undefined) return "a key of the matching type";
  return row.key === "dataset" ? "a knowledge key (dataset-…)" : "an application key (app-…)";
}

/** A 403 has four causes; only the text tells them apart (server §4). */
function forbidden(body: ErrorBody, { row, path }: RequestContext): Explanation {
  if (/request rate limit/.test(body.message)) {
    return {
      kind: "limited",
      retryable: true,
      hint: "wait at least 60 seconds; rejected requests count too",
    };
  }
  if (/has reached the limit|To unlock this feature/.test(body.message)) {
    return { kind: "limited", hint: "the plan of the workspace is exhausted" };
  }
  if (body.code === "archived_document_immutable") {
    const [, kb = "KB", doc = "DOC"] = /\/datasets\/([^/]+)\/documents\/([^/]+)/.exec(path) ?? [];
    const unarchive = commandLine("kb doc unarchive", [kb, doc]);
    return { kind: "refused", hint: `unarchive it first: ${unarchive}` };
  }
  if (row?.key !== "dataset") {
    return {
      kind: "auth",
      hint: "API access is disabled or not allowed for this key; check the API settings of the application or knowledge base",
    };
  }
  // A knowledge key may be limited to some knowledge bases (server §2).
  const hint = row.route.includes("{dataset_id}")
    ? "the key may be limited to other knowledge bases, or API access of this one is disabled"
    : limitedKeyHint;
  return { kind: "auth", hint };
}

/** The hint for a key that cannot list knowledge bases. */
export const limitedKeyHint = `the key may be limited to some knowledge bases, which it cannot list: name them with ${commandLine("kb login", ["PROFILE"], { kb: "NAME=ID" })} or KB_DATASET_IDS, or use their IDs`;

/** A route that the server does not have: an older server, or not the API at all (server §19). */
function missingRoute({ headers }: ErrorResponse, context: RequestContext): Explanation {
  const version = headers["x-version"];
  if (version === undefined) {
    return { kind: "unsupported", text: NOT_API, hint: CHECK_BASE_URL };
  }
  const since = context.row?.since;
  if (since !== undefined && !atLeast(version, since)) {
    return {
      kind: "unsupported",
      text: `the server is version ${version}; this command needs ${since} or later`,
      hint: "upgrade the server",
    };
  }
  return {
    kind: "unsupported",
    text: `the server (version ${version}) does not support ${context.method} ${context.path}`,
    hint: /^\/(.*\/)?v1\//.test(context.path)
      ? "check the path, and that its IDs are UUIDs"
      : "check the base URL: most servers expose the API under /v1, as in https://example.com/v1",
  };
}
