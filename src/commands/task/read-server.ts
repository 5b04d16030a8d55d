import { CHECK_BASE_URL } from "../../api/request.ts";
import type { Target } from "../../api/calls.ts";
import { readText } from "../../lib/collect.ts";
import { ApiError, CliError } from "../../errors.ts";
import { isAccessToken } from "../../lib/api-key.ts";
import type { KeyKind } from "../../lib/api-key.ts";
import { isObject, tryParseJson } from "../../lib/json.ts";
import { counted, isUuid } from "../../lib/text.ts";
import { asText } from "../../operations/operation.ts";
import type { Context } from "./command-spec.ts";

/** What one read shows of a server and a key. */
export interface KeyReport {
  /** Version of the server; undefined if a proxy removes the header. */
  readonly version: string | undefined;
  /** `opens 12 knowledge bases`, or `opens "support", mode workflow`; undefined without a key. */
  readonly opens: string | undefined;
  /** Name of the application that it opens. */
  readonly app?: string;
}

const datasets = "/datasets?page=1&limit=1";
/** Knowledge bases that are opened to see which of those that it lists an access token opens. */
const MAX_OPENED = 20;
/** ms without a byte: these reads are fast on every server. */
const IDLE_TIMEOUT = 30_000;

/** Reads what a key opens. Throws API errors, and unsupported if this is not the API. */
export async function readKey(
  kind: KeyKind,
  target: Target,
  context: Pick<Context, "api">,
): Promise<KeyReport> {
  if (kind === "dataset" && isAccessToken(target.key ?? "")) return readToken(target, context);
  const url = kind === "dataset" ? datasets : "/info";
  const { version, body } = await readJson(url, kind, target, context);
  if (kind === "app") {
    const app = asText(body["name"]);
    const mode = asText(body["mode"]) || "unknown";
    return { version, app, opens: `opens ${JSON.stringify(app)}, mode ${mode}` };
  }
  const { total } = body;
  const count = typeof total === "number" ? counted(total, "knowledge base") : "knowledge bases";
  return { version, opens: `opens ${count}` };
}

/** What an access token opens of the knowledge bases that it lists: it may list more than it opens (server §2.2). */
async function readToken(target: Target, context: Pick<Context, "api">): Promise<KeyReport> {
  const url = `/datasets?page=1&limit=${MAX_OPENED}`;
  const { version, body } = await readJson(url, "dataset", target, context);
  const listed = Array.isArray(body["data"]) ? (body["data"] as unknown[]) : [];
  const ids = listed.flatMap((each) => (isObject(each) ? asText(each["id"]) : [])).filter(isUuid);
  const opened = await countOpened(ids, target, context);
  const total = typeof body["total"] === "number" ? body["total"] : ids.length;
  const some = total > ids.length ? `first ${ids.length} of ` : "";
  return {
    version,
    opens: `opens ${opened} of the ${some}${counted(total, "knowledge base")} that it lists`,
  };
}

/** What the headers of a server tell: its version and its clock. */
interface ServerHeaders {
  readonly version: string | undefined;
  readonly date: string | undefined;
}

/** Reads from a server without a key, which only the API rejects as it should. */
export async function readServer(
  baseUrl: string,
  context: Pick<Context, "api">,
): Promise<ServerHeaders> {
  try {
    return await readJson(datasets, "dataset", { baseUrl }, context);
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status !== 401) throw error;
    const { version, date } = error.response;
    return { version: versionIn(version), date };
  }
}

/** How many of the knowledge bases a key opens, with one read each. */
export async function countOpened(
  ids: readonly string[],
  target: Target,
  context: Pick<Context, "api">,
): Promise<number> {
  let count = 0;
  for (const id of ids) {
    try {
      await readJson(`/datasets/${id}`, "dataset", target, context);
      count++;
    } catch (error) {
      if (!(error instanceof ApiError) || !["auth", "not-found"].includes(error.kind)) throw error;
    }
  }
  return count;
}

/** A key that is valid, but may not list knowledge bases: it opens only some of them (server §2). */
export const isBoundKey = (kind: KeyKind, error: unknown): error is ApiError =>
  kind === "dataset" &&
  error instanceof ApiError &&
  error.kind === "auth" &&
  error.response.status === 403;

/** The version in the X-Version header, without anything that a proxy may have added. */
export const versionIn = (header: string | undefined): string | undefined =>
  /^\d+(\.\d+)*[\w.+-]{0,20}/.exec(header ?? "")?.[0];

async function readJson(
  url: string,
  kind: KeyKind,
  target: Target,
  { api }: Pick<Context, "api">,
): Promise<ServerHeaders & { readonly body: Record<string, unknown> }> {
  const options = { target, idleTimeout: IDLE_TIMEOUT };
  const response = await api.raw({ method: "GET", url, headers: {} }, kind, options);
  const body = tryParseJson(await readText(response.body));
  const { date, "x-version": version } = response.headers;
  if (isObject(body)) return { version: versionIn(version), date, body };
  throw new CliError("unsupported", "not an API endpoint: the response is not JSON", {
    sideEffect: "none",
    hint: CHECK_BASE_URL,
  });
}
