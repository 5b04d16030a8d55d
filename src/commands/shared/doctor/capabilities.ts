import { readText } from "../../../lib/collect.ts";
import { ApiError, CliError } from "../../../errors.ts";
import type { KeyKind } from "../../../lib/api-key.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { atLeast } from "../../../lib/version.ts";
import { operations } from "../../../operations/index.ts";
import { methodAndPath } from "../../../operations/operation.ts";
import type { AnyOperation } from "../../../operations/operation.ts";
import type { ProgramFeatures } from "../../task/command-rules.ts";
import { loadAll } from "../../task/command-spec.ts";
import type { Context, Task } from "../../task/command-spec.ts";

interface Capability {
  readonly capability: string;
  readonly supported: "yes" | "no" | "unknown";
  readonly how: string;
}

/** An ID that no object has: a read with it tests the route only. */
const UNUSED_ID = "00000000-0000-0000-0000-000000000000";

type Verdict = Omit<Capability, "capability">;

/** What the lists of features tell about both programs. */
export type Programs = Readonly<Record<"kb" | "wf", ProgramFeatures>>;

/**
 * `doctor --capabilities`: lists which of the API that this CLI uses the server supports. Sends reads
 * only, one for each group and each newer operation that reads; everything else is inferred from the
 * server version.
 */
export async function* capabilities(
  programs: Programs,
  context: Context,
): AsyncGenerator<Capability> {
  const isWorkflow = context.options.program === "wf";
  const kind = isWorkflow ? "app" : "dataset";
  const program = programs[isWorkflow ? "wf" : "kb"];
  const probes = newProbes(kind, context);
  for (const [capability, row] of Object.entries(await program.probes()))
    yield { capability, ...(await probes.probe(row)) };
  const commands = await loadAll(program.features);
  for (const row of newerOperations(kind)) {
    const { route, since = "" } = row;
    const capability = commandOf(row, commands);
    if (route.startsWith("GET ")) {
      const { supported, how } = await probes.probe(row);
      yield { capability, supported, how: `${how} (since ${since})` };
    } else yield { capability, ...fromVersion(since, probes.version()) };
  }
}

/** Sends reads to learn which routes the server has. */
function newProbes(kind: KeyKind, context: Context) {
  let version: string | undefined;
  /** Why every further request would fail, too. */
  let stopped: string | undefined;
  const send = async (row: AnyOperation): Promise<Verdict> => {
    const request = { method: "GET", url: urlOf(row), headers: {} };
    const response = await context.api.raw(request, kind, {});
    version ??= response.headers["x-version"];
    const body = tryParseJson(await readText(response.body));
    if (isObject(body) || Array.isArray(body))
      return { supported: "yes", how: `${row.route}: ${response.status}` };
    stopped = "not an API endpoint: the response is not JSON";
    return { supported: "unknown", how: stopped };
  };
  return {
    version: () => version,
    async probe(row: AnyOperation): Promise<Verdict> {
      if (stopped !== undefined) return { supported: "unknown", how: stopped };
      try {
        return await send(row);
      } catch (error) {
        if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
        version ??= error instanceof ApiError ? error.response.version : undefined;
        const verdict = fromError(error, row);
        // A missing or invalid key and an unreachable server affect every request.
        if (["auth", "network", "usage"].includes(error.kind)) stopped = verdict.how;
        return verdict;
      }
    },
  };
}

/** Operations that not every server has, each route once. */
const newerOperations = (kind: KeyKind): AnyOperation[] => [
  ...new Map(
    operations
      .filter((row) => row.key === kind && row.since !== undefined)
      .map((row) => [row.route, row]),
  ).values(),
];

/** The command of an operation, without its arguments: `kb doc link`. */
function commandOf(row: AnyOperation, commands: readonly (AnyOperation | Task)[]): string {
  const tasks = commands.filter((each) => "load" in each);
  const task =
    tasks.find(({ wraps }) => wraps === row) ?? tasks.find(({ sends }) => sends?.includes(row));
  return (row.command ?? task?.command ?? row.id).replace(/ [<[].*/, "");
}

/** URL with unused IDs and the shortest page. Without an end user, since a read would create it. */
function urlOf(row: AnyOperation): string {
  const [, path] = methodAndPath(row);
  const url = path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => row.params[name]?.choices?.[0] ?? UNUSED_ID,
  );
  return row.returns.kind === "page" ? `${url}?page=1&limit=1` : url;
}

/** What an error shows about a route (server §3, §19). */
function fromError(error: CliError, row: AnyOperation): Verdict {
  if (!(error instanceof ApiError)) return { supported: "unknown", how: error.message };
  const { status, serverCode, version } = error.response;
  const how = `${row.route}: ${[status, serverCode].filter((part) => part !== undefined).join(" ")}`;
  if (error.kind === "not-found") {
    // A route without an ID has no object to miss: servers before 1.11.3 lack the one for tags.
    return row.route.includes("{") ? existing(row, error) : { supported: "no", how };
  }
  if (error.kind === "unsupported" && status !== 501 && version !== undefined) {
    const why = serverCode?.includes("app") ? "wrong kind of application" : "no such route";
    return { supported: "no", how: `${how}: ${why}` };
  }
  // The route exists: it rejected the missing end user or the unused ID.
  if (error.kind === "refused" && version !== undefined) return existing(row, error);
  return { supported: "unknown", how: error.message };
}

/** A route that rejected an unused ID, or a request without an end user. */
const existing = (row: AnyOperation, { response: { status } }: ApiError): Verdict => ({
  supported: "yes",
  how: `${row.route}: exists (${status} to a test request)`,
});

function fromVersion(since: string, version: string | undefined): Verdict {
  if (version === undefined)
    return { supported: "unknown", how: "cannot be tested without a write" };
  const how = `the server has version ${version} (since ${since})`;
  return { supported: atLeast(version, since) ? "yes" : "no", how };
}
