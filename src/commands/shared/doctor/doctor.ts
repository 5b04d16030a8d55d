import { readText } from "../../../api/client.ts";
import { isOlderThan, limitedKeyHint } from "../../../api/api-error.ts";
import { masked, sandboxProfile, settingsFor, targetOf } from "../../../config/settings.ts";
import type { Settings, TargetFlags } from "../../../config/settings.ts";
import { profilePath, readProfiles } from "../../../config/profiles.ts";
import { ApiError, CliError } from "../../../errors.ts";
import type { FailureKind } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { isObject, parsedJson } from "../../../lib/json.ts";
import { version } from "../../../lib/version.ts";
import { asText } from "../../../operations/operation.ts";
import type { Context } from "../../command-spec.ts";

/** One thing that was looked at. `next` is what to do about it. */
interface Finding {
  readonly check: string;
  readonly result: "ok" | "warning" | "problem";
  readonly found: string;
  readonly next: string | null;
}

const noApi = "the answer is no JSON: not an API endpoint";
const checkAddress = "check the base URL: it ends in /v1";

/** Clock differences beyond this are worth a word, in seconds. */
const clockTolerance = 30;
/** Version that all of this was written for. */
const knownVersion = "1.14.0";

/** A finding, and what kind of failure it is where it is a problem. */
type Found = Finding & { readonly kind?: FailureKind };

const ok = (check: string, found: string): Found => ({ check, result: "ok", found, next: null });
const warning = (check: string, found: string, next: string): Found => ({
  check,
  result: "warning",
  found,
  next,
});
const problem = (check: string, found: string, next: string, kind: FailureKind): Found => ({
  check,
  result: "problem",
  found,
  next,
  kind,
});
const problemOf = (check: string, { message, info, kind }: CliError): Found =>
  problem(check, message, info.hint ?? "", kind);

interface DoctorInput {
  readonly capabilities?: boolean | undefined;
  readonly last_error?: number | undefined;
}

/** Looks around, tells of a failure that was kept, or of what the server supports. */
export async function* run(input: DoctorInput, context: Context): AsyncGenerator<unknown> {
  if (input.last_error !== undefined && input.capabilities) {
    throw new CliError("usage", "give either --last-error or --capabilities, not both");
  }
  if (input.capabilities) {
    const { capabilities } = await import("./capabilities.ts");
    yield* capabilities(context);
  } else if (input.last_error !== undefined) {
    const { lastError } = await import("./last-error.ts");
    yield* lastError(input.last_error, context);
  } else yield* examination(context);
}

/**
 * Looks at everything between this machine and an answer, with reads only. Throws the first problem
 * at the end.
 */
async function* examination(context: Context): AsyncGenerator<Finding> {
  const problems: Found[] = [];
  const { masked: withoutKeys } = context.host.secrets;
  for await (const { kind, ...finding } of findings(context)) {
    // What is found is often a server's word, and shown to those who are asked for help.
    const each = { ...finding, found: withoutKeys(finding.found) };
    if (kind !== undefined) problems.push({ ...each, kind });
    yield each;
  }
  const [first] = problems;
  if (first?.kind) {
    throw new CliError(
      first.kind,
      `${problems.length} problem${problems.length > 1 ? "s" : ""} found: ${first.check}: ${first.found}`,
      {
        code: "doctor",
        isResult: true,
        sideEffect: "none",
        hint: first.next ?? undefined,
      },
    );
  }
}

async function* findings(context: Context): AsyncGenerator<Found> {
  const { host, options: asked } = context;
  yield ok("program", `${asked.program} ${version} (node ${host.platform})`);
  yield* profileFile(context);
  const settings = await settingsOr("settings", asked.flags, host);
  if ("check" in settings) return yield settings;
  const { baseUrl } = settings;
  if (baseUrl.value === undefined) {
    const next = "set KB_BASE_URL, add a profile, or try `kb sandbox`";
    return yield problem("base URL", "none is known", next, "usage");
  }
  yield ok("base URL", `${baseUrl.value} (${baseUrl.source})`);
  if (!new URL(baseUrl.value).pathname.endsWith("/v1")) {
    yield warning("base URL", "it does not end in /v1", "the API lives below /v1 on most servers");
  }
  let answers = true;
  for await (const found of reached(baseUrl.value, context)) {
    answers &&= found.kind === undefined;
    yield found;
  }
  if (!answers) return;
  for (const [kind, app] of everyKey(settings)) {
    const label = kind === "dataset" ? "knowledge key" : app ? `key of ${app}` : "application key";
    const its =
      app === undefined ? settings : await settingsOr(label, { ...asked.flags, app }, host);
    if ("check" in its) {
      yield its;
      continue;
    }
    const setting = kind === "dataset" ? its.knowledgeKey : its.appKey;
    if (setting.value === undefined) {
      const variable = kind === "dataset" ? "KB_KEY" : "KB_APP_KEY";
      const program = kind === "dataset" ? "kb" : "wf";
      yield warning(
        label,
        "none is known",
        `${program} needs one: set ${variable} or add it to a profile`,
      );
      continue;
    }
    try {
      const shown = `${masked(setting.value)} (${setting.source})`;
      yield await keyWorks(kind, label, shown, targetOf(its, kind), context);
    } catch (error) {
      if (context.signal.aborted) throw context.abortError();
      if (!(error instanceof CliError)) throw error;
      if (kind === "dataset" && error instanceof ApiError && error.response.status === 403) {
        yield await boundKey(label, its, error, context);
        continue;
      }
      // The usual hint is to ask doctor.
      yield error instanceof ApiError && error.kind === "auth"
        ? problem(label, error.message, "check the key: the platform shows valid ones", error.kind)
        : problemOf(label, error);
      if (error.kind === "network") return;
    }
  }
  yield ok("connections", "a stock server serves ten at once; bulk work here uses three");
}

/** The settings, or what is wrong with them: a value, a key command, a keyring that gives nothing. */
async function settingsOr(
  check: string,
  flags: TargetFlags,
  host: Host,
): Promise<Settings | Found> {
  try {
    return await settingsFor(flags, host, { key: "both" });
  } catch (error) {
    if (!(error instanceof CliError) || !["auth", "usage"].includes(error.kind)) throw error;
    return problemOf(check, error);
  }
}

/** Does the API answer there? Asked without a key, which a server refuses in its own words. */
async function* reached(baseUrl: string, context: Context): AsyncGenerator<Found> {
  const started = context.host.elapsed();
  let date: string | undefined;
  let itsVersion: string | undefined;
  try {
    const request = { method: "GET", url: "/datasets?page=1&limit=1", headers: {} };
    const { headers, body } = await context.raw(request, "dataset", { target: { baseUrl } });
    const page = !isObject(parsedJson(await readText(body)));
    if (page) return yield problem("reached", noApi, checkAddress, "unsupported");
    ({ date, "x-version": itsVersion } = headers);
  } catch (error) {
    if (context.signal.aborted) throw context.abortError();
    if (!(error instanceof CliError)) throw error;
    if (!(error instanceof ApiError) || error.kind !== "auth")
      return yield problemOf("reached", error);
    ({ date, version: itsVersion } = error.response);
  }
  yield ok("reached", `in ${context.host.elapsed() - started} ms`);
  yield server(itsVersion);
  yield* clock(date, context);
}

/** The knowledge key, and the key of every application of the profile, or the one of the environment. */
const everyKey = ({
  appKey,
  apps,
  stored,
}: Settings): ["dataset" | "app", string | undefined][] => {
  const fromProfile =
    stored !== undefined && (appKey.value === undefined || appKey.source.startsWith(stored.source));
  const named =
    fromProfile && stored.name !== sandboxProfile && apps.length > 0 ? apps : [undefined];
  return [["dataset", undefined], ...named.map((app): ["app", string | undefined] => ["app", app])];
};

async function* profileFile({ host }: Context): AsyncGenerator<Found> {
  const path = profilePath(host);
  const found = await host.files.stat(path);
  if (!found) {
    yield ok("profiles", "none are stored; the environment is used");
    return;
  }
  const stored = await readProfiles(host);
  yield ok("profiles", `${Object.keys(stored.profiles).join(", ") || "none"} in ${path}`);
  if ((found.mode & 0o077) !== 0 && !host.platform.includes("win32")) {
    yield warning("profiles", "others on this machine can read the keys", `chmod 600 ${path}`);
  }
}

/** What a key opens. Throws what the server refuses it with. */
async function keyWorks(
  kind: "dataset" | "app",
  label: string,
  shown: string,
  target: ReturnType<typeof targetOf>,
  context: Context,
): Promise<Found> {
  const url = kind === "dataset" ? "/datasets?page=1&limit=1" : "/info";
  const answer = await context.raw({ method: "GET", url, headers: {} }, kind, { target });
  const body = parsedJson(await readText(answer.body));
  if (!isObject(body)) return problem(label, noApi, checkAddress, "unsupported");
  const what =
    kind === "dataset"
      ? `opens ${typeof body["total"] === "number" ? body["total"] : "the"} knowledge bases`
      : `opens ${JSON.stringify(asText(body["name"]))}, mode ${asText(body["mode"]) || "unknown"}`;
  return ok(label, `${shown} ${what}`);
}

/** A knowledge key that the server knows, but opens no list with: which knowledge bases it opens. */
async function boundKey(
  label: string,
  settings: Settings,
  error: ApiError,
  context: Context,
): Promise<Found> {
  const target = targetOf(settings, "dataset");
  const ids = [...new Set(Object.values(settings.bases))];
  let opens = 0;
  for (const id of ids) {
    const request = { method: "GET", url: `/datasets/${id}`, headers: {} } as const;
    try {
      await readText((await context.raw(request, "dataset", { target })).body);
      opens += 1;
    } catch (why) {
      if (!(why instanceof ApiError)) throw why;
    }
  }
  if (opens > 0) {
    return ok(label, `opens only some knowledge bases: ${opens} of the ${ids.length} named`);
  }
  return problem(
    label,
    `${error.message}: the server knows the key, which opens only some knowledge bases, or none`,
    limitedKeyHint,
    error.kind,
  );
}

function server(itsVersion: string | undefined): Found {
  if (itsVersion === undefined) {
    return warning(
      "server",
      "it does not tell its version",
      "a proxy may take the header away; hints for old servers will be missing",
    );
  }
  if (!isOlderThan(itsVersion, knownVersion)) return ok("server", `version ${itsVersion}`);
  const next = `event streams, forms and document replacing need ${knownVersion}`;
  return warning("server", `version ${itsVersion}`, next);
}

function* clock(date: string | undefined, { host }: Context): Generator<Found> {
  const theirs = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirs)) return;
  const off = Math.round((host.now().getTime() - theirs) / 1000);
  if (Math.abs(off) <= clockTolerance) yield ok("clock", `${Math.abs(off)} s apart`);
  else
    yield warning(
      "clock",
      `this machine is ${Math.abs(off)} s ${off > 0 ? "ahead" : "behind"}`,
      "set the clock: time filters and certificates depend on it",
    );
}
