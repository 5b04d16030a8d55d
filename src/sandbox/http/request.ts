import { methodAndPath, type AnyOperation, type Param } from "../../operations/operation.ts";
import { isAccessToken } from "../../lib/api-key.ts";
import { isUuid } from "../../lib/text.ts";
import { atLeast, nextServer } from "../../lib/version.ts";
import type { AppDefinition } from "../apps/definitions/app-definitions.ts";
import { errorsOf, internalServerError, raise } from "../protocol/response.ts";
import { appId, KNOWLEDGE_KEY } from "../protocol/ids.ts";
import { attempt, isObject, parseJson } from "../../lib/json.ts";
import type { ReceivedFile, ReceivedPart, ReceivedRequest } from "../protocol/handler.ts";
import { InvalidInput, validate, validateFields } from "../protocol/validation.ts";
import type { Rule, ValidationProblem } from "../protocol/validation.ts";
import data from "./request-models.json" with { type: "json" };
import errors from "./errors.json" with { type: "json" };

/** Returns the error with that name. */
export const requestError = errorsOf(errors);

/** Placeholders that accept any text; all others must be UUIDs (server §2). */
const FREE_TEXT =
  "workflow_run_id workflow_id task_id form_token batch node_id action model_type".split(" ");

/** The route of a request. */
export interface Match {
  /** The rows of the route, and the first of them. */
  readonly rows: readonly AnyOperation[];
  readonly row: AnyOperation;
  /** The values of its placeholders. */
  readonly path: Readonly<Record<string, string>>;
}

/** Creates a router: it finds the row of a request by its encoded path without /v1, or why there is none. */
export function createRouter(all: readonly AnyOperation[]) {
  const firsts = all.filter(
    (row, index) => all.findIndex(({ route }) => route === row.route) === index,
  );
  const routes = firsts.map((row) => {
    const [method, path] = methodAndPath(row);
    const rows = all.filter(({ route }) => route === row.route);
    return { row, rows, method, segments: path.split("/").slice(1) };
  });
  // Literal segments take precedence over placeholders, as on the server.
  routes.sort((a, b) => a.row.route.split("{").length - b.row.route.split("{").length);

  return (method: string, encodedPath: string, version: string) => {
    const decoded = encodedPath.split("/").slice(1).map(decodeSegment);
    const matches = routes.flatMap(({ segments, ...route }) => {
      if (route.row.since && !atLeast(version, route.row.since)) return [];
      const path = matchSegments(segments, decoded);
      return path ? [{ ...route, path }] : [];
    });
    if (matches.length === 0) return "no such route" as const;
    return matches.find((match) => match.method === method) ?? ("other method" as const);
  };
}

function matchSegments(pattern: readonly string[], segments: readonly string[]) {
  if (pattern.length !== segments.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const name = /^\{(.*)\}$/.exec(expected)?.[1];
    const matches = name === undefined ? segment === expected : isValue(name, segment);
    if (!matches) return undefined;
    if (name !== undefined) values[name] = segment;
  }
  return values;
}

const isValue = (name: string, segment: string) =>
  segment !== "" && (FREE_TEXT.includes(name) || isUuid(segment));

const decodeSegment = (segment: string): string =>
  attempt(() => decodeURIComponent(segment)) ?? segment;

/** The key that an `Authorization` header sends; undefined if it has none. */
export const keyIn = (header: string | undefined): string | undefined =>
  header?.trim().split(/\s+/, 2)[1];

/**
 * Prefix of a key that is limited to the knowledge bases listed after it, e.g. `dataset-bound-ID,ID`.
 * Imitates an announced feature that was not recorded yet (server §2).
 */
const BOUND_KEY_PREFIX = "dataset-bound-";

/** What an access token opens (server §2.2): `sk-` and names of applications and IDs of knowledge bases, `sk-all` everything. */
function openedBy(key: string, applications: readonly AppDefinition[]) {
  const items = key.slice("sk-".length).split(",");
  const isAll = items[0] === "all";
  const bases = items.filter(isUuid);
  const apps = applications.filter(({ name }) => isAll || items.includes(name));
  if (!isAll && apps.length + bases.length < items.length) return undefined;
  return {
    apps,
    /** Without an ID: is there any? The list is admitted then, and holds all of them. */
    opensBase: (id: string | undefined) =>
      isAll || (id === undefined ? bases.length > 0 : bases.includes(id)),
  };
}

/** The application that a request of an access token is for. */
function chosenApp(apps: readonly AppDefinition[], id: string | undefined): AppDefinition {
  const [only, second] = apps;
  if (id === undefined && second) throw requestError("token without application");
  const chosen =
    id === undefined ? only : apps.find(({ name }) => appId(name) === id.toLowerCase());
  return chosen ?? raise(requestError("token for other applications"));
}

/** The applications of the sandbox, and the version that it imitates. */
interface Authority {
  readonly applications: readonly AppDefinition[];
  readonly findAppByKey: (key: string) => AppDefinition | undefined;
  readonly version: string;
}

/** Returns the application of the key, or undefined for a key of knowledge bases; throws 401, 403 or 400. */
export function authorize(
  authority: Authority,
  { row, path }: Match,
  headers: ReceivedRequest["headers"],
): AppDefinition | undefined {
  const header = headers["authorization"];
  const [scheme = ""] = header?.trim().split(/\s+/, 1) ?? [];
  const key = keyIn(header);
  if (key === undefined) throw requestError("no key");
  if (scheme.toLowerCase() !== "bearer") throw requestError("key of another scheme");
  if (isAccessToken(key) && atLeast(authority.version, nextServer)) {
    const opened = openedBy(key, authority.applications) ?? raise(requestError("token unknown"));
    if (row.key === "app") return chosenApp(opened.apps, headers["x-dify-app-id"]);
    if (opened.opensBase(path["dataset_id"])) return undefined;
    throw requestError("token for other datasets");
  }
  // A key of the other kind is unknown, too (server §2).
  const app = row.key === "app" ? authority.findAppByKey(key) : undefined;
  if (app !== undefined || (row.key === "dataset" && key === KNOWLEDGE_KEY)) return app;
  if (row.key === "app" || !key.startsWith(BOUND_KEY_PREFIX)) throw requestError("key unknown");
  const ids = key.slice(BOUND_KEY_PREFIX.length).split(",");
  if (ids.includes(path["dataset_id"] ?? "no knowledge base")) return undefined;
  throw requestError("key for other datasets");
}

/** The contents of a request, as a handler gets them. */
export interface ParsedRequest {
  /** Validated values by wire name, without nulls. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The JSON body, or the JSON part of a form. */
  readonly body: unknown;
  readonly files: ReadonlyMap<string, ReceivedFile>;
}

/** Maximum text part of a form, in bytes (server §3). */
const MAX_TEXT_PART = 500_000;

/**
 * Parses a request by the rows of its route. Throws HttpError with the server's texts, checked in its
 * order: the type of the body, its JSON, the end user, the fields (server §2, §3).
 */
export function parseRequest(
  { row, rows, path }: Match,
  query: URLSearchParams,
  request: ReceivedRequest,
  version: string,
): ParsedRequest {
  const params = rows.flatMap((row) => Object.entries(row.params));
  const places = new Set(params.map(([, param]) => param.in));
  const isForm = places.has("form") || places.has("data");
  const isJson = places.has("body") || rows.flatMap(bodyConstants).length > 0;
  const texts = isForm ? parseTexts(request.parts) : {};
  let body: unknown;
  if (isForm) body = parseFormData(texts);
  else if (isJson) body = parseJsonBody(request, version);
  const fields = isObject(body) ? body : {};

  if (requestModel(row.id).user && !(query.get("user") || fields["user"])) {
    throw requestError("user missing");
  }
  checkQuery(row, query);
  if (isJson || isForm) checkBody(row, rows, body);

  const files = parseFiles(request.parts);
  const readers: { readonly [Place in Param["in"]]?: (name: string, param: Param) => unknown } = {
    query: (name, param) => (query.has(name) ? queryValue(param, query.getAll(name)) : undefined),
    body: (name) => fields[name],
    data: (name) => fields[name],
    form: (name, { kind }) => (kind === "file" ? files.get(name)?.name : texts[name]),
  };
  const values = params
    .map(([name, param]) => [name, readers[param.in]?.(name, param)] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  return { input: { ...path, ...Object.fromEntries(values) }, body, files };
}

function queryValue({ kind, many }: Param, texts: readonly string[]): unknown {
  const [first = ""] = texts;
  if (many) return texts;
  if (kind === "flag") return first.toLowerCase() === "true";
  return kind === "integer" || kind === "number" ? Number(first) : first;
}

/** Parses a JSON body; servers after 1.17.1 take a broken one for an empty object (server §3.1). */
function parseJsonBody(request: ReceivedRequest, version: string): unknown {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !type.endsWith("+json")) throw requestError("body not JSON");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const body = attempt(() => parseJson(decoder.decode(request.body)));
  if (body !== undefined) return body;
  return atLeast(version, nextServer) ? {} : raise(requestError("JSON invalid"));
}

/** Parses the JSON part of a form (default: an empty object). */
function parseFormData({ data = "{}" }: Readonly<Record<string, string>>): unknown {
  const parsed = attempt(() => parseJson(data));
  // the two common texts of the server's parser
  if (parsed === undefined)
    throw requestError(/^\s*\{/.test(data) ? "property name expected" : "value expected");
  if (!isObject(parsed)) throw internalServerError();
  return parsed;
}

function parseTexts(parts: readonly ReceivedPart[]): Record<string, string> {
  const texts = parts.filter(({ filename }) => filename === undefined);
  if (texts.some(({ bytes }) => bytes.byteLength > MAX_TEXT_PART))
    throw requestError("text part too large");
  return Object.fromEntries(
    texts.map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]),
  );
}

/** Returns file parts by field name; of several with one name, the server takes the first (server §3). */
function parseFiles(parts: readonly ReceivedPart[]): Map<string, ReceivedFile> {
  const files = new Map<string, ReceivedFile>();
  for (const { name, filename, type, bytes } of parts) {
    if (filename === undefined || files.has(name)) continue;
    files.set(name, { name: filename, type, bytes });
  }
  return files;
}

/** The server's name for a request body, and where its checks differ from the operations table. */
interface RequestModel {
  readonly body: string;
  /** Name of the query model; undefined if the server does not check the choices of the query. */
  readonly query?: string;
  /**
   * Rules that override those of the row: names that are too long are truncated, not rejected, or
   * have another error text, like an empty query (server §11).
   */
  readonly fields?: Readonly<Record<string, Rule>>;
  /** The error response is `{error}` only (server §3). */
  readonly bare?: true;
  /** The end user is checked first (server §2). */
  readonly user?: true;
}

// The types of JSON have no literals.
const { models, params: looseParams } = data as unknown as {
  /** By operation ID; error texts contain the names (server §3). */
  readonly models: Readonly<Record<string, RequestModel>>;
  /** Parameters of which the models check less than the operations table (server §6). */
  readonly params: Readonly<Record<string, Rule>>;
};

/** Returns the model of an operation; unknown names are formed like the recorded ones. */
const requestModel = (operationId: string): RequestModel =>
  models[operationId] ?? {
    body: `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Payload`,
  };

/** Validates a body or the JSON part of a form by the rows that share the route of `row`; throws HttpError with the server's text. */
function checkBody(row: AnyOperation, rows: readonly AnyOperation[], body: unknown): void {
  const model = requestModel(row.id);
  const problems: readonly ValidationProblem[] = isObject(body)
    ? // The fields of the model come first, in its order.
      validateFields({ ...model.fields, ...bodyRules(rows), ...model.fields }, body, "")
    : [{ field: "", value: body, type: "model_type", about: model.body }];
  if (problems.length === 0) return;
  throw new InvalidInput(model.body, problems, model.bare);
}

/** Validates the choices of a query; handlers parse the numbers. */
function checkQuery(row: AnyOperation, query: URLSearchParams): void {
  const model = requestModel(row.id).query;
  if (model === undefined) return;
  const problems = Object.entries(row.params).flatMap(([name, param]) => {
    const value = query.get(name);
    return param.in === "query" && value !== null ? validate(paramRule(param), value, name) : [];
  });
  if (problems.length > 0) throw new InvalidInput(model, problems);
}

/** Rules of the body fields of rows that share a route; their constants are the choices. */
function bodyRules(rows: readonly AnyOperation[]): Record<string, Rule> {
  const rules: Record<string, Rule> = {};
  for (const row of rows) {
    for (const [name, param] of Object.entries(row.params)) {
      if (param.in !== "body" && param.in !== "data") continue;
      const [owner = name, field, ...deeper] = name.split(".");
      // A dotted name is a field of an object; items of lists have rules of their own.
      if (field === undefined) rules[name] = looseParams[name] ?? paramRule(param);
      else if (deeper.length === 0) {
        const fields = { ...rules[owner]?.fields, [field]: paramRule(param) };
        rules[owner] = { kind: "object", required: true, fields };
      }
    }
    for (const name of bodyConstants(row)) {
      const choices = rows.flatMap((each) => each.fixed?.[name] ?? []).sort();
      rules[name] = { kind: "text", choices };
    }
  }
  return rules;
}

/** Names of the constants that a row sends in its body. */
const bodyConstants = ({ fixed = {}, route }: AnyOperation) =>
  Object.keys(fixed).filter((name) => !route.includes(`{${name}}`));

/** Kinds of rules by kind of parameter; others are texts. */
const KINDS: { readonly [Kind in Param["kind"]]?: Rule["kind"] } = {
  integer: "integer",
  number: "number",
  duration: "number",
  flag: "flag",
  json: "any",
};

function paramRule({ kind, many, required, length, choices, shape }: Param): Rule {
  const rule: Rule = { kind: KINDS[kind] ?? "text", ...(choices && { choices }), ...shape };
  return {
    ...(many ? { kind: "list", of: { kind: "text" } } : rule),
    ...(required && { required }),
    ...(length && { length }),
  };
}
