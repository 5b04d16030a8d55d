import { textOf } from "../api/client.ts";
import { olderThan } from "../api/refusal.ts";
import { masked, sandboxProfile, settingsFor, targetOf } from "../config/settings.ts";
import type { Settings, TargetFlags } from "../config/settings.ts";
import { profilePath, readProfiles } from "../config/profile.ts";
import { ApiError, CliError } from "../errors.ts";
import type { Host } from "../host.ts";
import { isObject, parsedJson } from "../json.ts";
import type { Context } from "./task.ts";

/** One thing that was looked at. `next` is what to do about it. */
interface Finding {
  readonly check: string;
  readonly result: "ok" | "warning" | "problem";
  readonly found: string;
  readonly next: string | null;
}

/** Clock differences beyond this are worth a word, in seconds. */
const clockTolerance = 30;
/** Version that all of this was written for. */
const knownVersion = "1.14.0";

const ok = (check: string, found: string): Finding => ({ check, result: "ok", found, next: null });
const finding = (
  check: string,
  result: Finding["result"],
  found: string,
  next: string,
): Finding => ({
  check,
  result,
  found,
  next,
});

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
    const { capabilities } = await import("./doctor-capabilities.ts");
    yield* capabilities(context);
  } else if (input.last_error !== undefined) {
    const { lastError } = await import("./doctor-last-error.ts");
    yield* lastError(input.last_error, context);
  } else yield* examination(context);
}

/**
 * Looks at everything between this machine and an answer, with reads only. Throws failure at the
 * end when something is broken.
 */
async function* examination(context: Context): AsyncGenerator<Finding> {
  const problems: Finding[] = [];
  const { masked: withoutKeys } = context.host.secrets;
  for await (const finding of findings(context)) {
    // What is found is often a server's word, and shown to those who are asked for help.
    const each = { ...finding, found: withoutKeys(finding.found) };
    if (each.result === "problem") problems.push(each);
    yield each;
  }
  const [first] = problems;
  if (first) {
    throw new CliError(
      "failure",
      `${problems.length} problem${problems.length > 1 ? "s" : ""} found: ${first.check}: ${first.found}`,
      {
        code: "doctor",
        verdict: true,
        changed: "nothing",
        hint: first.next ?? undefined,
      },
    );
  }
}

async function* findings(context: Context): AsyncGenerator<Finding> {
  const { host, asked } = context;
  yield ok("program", host.platform);
  yield* profileFile(context);
  const settings = await settingsOr("keys", asked.flags, host);
  if ("check" in settings) return yield settings;
  const { baseUrl } = settings;
  if (baseUrl.value === undefined) {
    yield finding(
      "base URL",
      "problem",
      "none is known",
      "set KB_BASE_URL, add a profile, or try `kb sandbox`",
    );
    return;
  }
  yield ok("base URL", `${baseUrl.value} (${baseUrl.source})`);
  if (!new URL(baseUrl.value).pathname.endsWith("/v1")) {
    yield finding(
      "base URL",
      "warning",
      "it does not end in /v1",
      "the API lives below /v1 on most servers",
    );
  }
  let reached = false;
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
      yield finding(
        label,
        "warning",
        "none is known",
        `${kind === "dataset" ? "kb" : "wf"} needs one: set ${variable} or add it to a profile`,
      );
      continue;
    }
    let target: ReturnType<typeof targetOf>;
    try {
      target = targetOf(its, kind);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      yield finding(label, "problem", error.message, error.told.hint ?? "");
      continue;
    }
    try {
      yield* keyWorks(
        kind,
        label,
        `${masked(setting.value)} (${setting.source})`,
        !reached,
        target,
        context,
      );
      reached = true;
    } catch (error) {
      if (!(error instanceof CliError) || context.signal.aborted) throw error;
      const version = error instanceof ApiError ? error.refusal.version : undefined;
      if (version !== undefined && !reached) yield ok("server", `version ${version}`);
      reached ||= version !== undefined;
      yield finding(label, "problem", error.message, error.told.hint ?? "");
      if (error.kind === "network") return;
    }
  }
  yield ok("connections", "a stock server serves ten at once; bulk work here uses three");
}

/** The settings, or what is wrong with a key: its command or the keyring does not give it. */
async function settingsOr(
  check: string,
  flags: TargetFlags,
  host: Host,
): Promise<Settings | Finding> {
  try {
    return await settingsFor(flags, host, { key: "both" });
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "auth") throw error;
    return finding(check, "problem", error.message, error.told.hint ?? "");
  }
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

async function* profileFile({ host }: Context): AsyncGenerator<Finding> {
  const path = profilePath(host);
  const found = await host.files.stat(path);
  if (!found) {
    yield ok("profiles", "none are stored; the environment is used");
    return;
  }
  const stored = await readProfiles(host);
  yield ok("profiles", `${Object.keys(stored.profiles).join(", ") || "none"} in ${path}`);
  if ((found.mode & 0o077) !== 0 && !host.platform.includes("win32")) {
    yield finding(
      "profiles",
      "warning",
      "others on this machine can read the keys",
      `chmod 600 ${path}`,
    );
  }
}

async function* keyWorks(
  kind: "dataset" | "app",
  label: string,
  shown: string,
  firstAnswer: boolean,
  target: ReturnType<typeof targetOf>,
  context: Context,
): AsyncGenerator<Finding> {
  const url = kind === "dataset" ? "/datasets?page=1&limit=1" : "/info";
  const started = context.host.elapsed();
  const answer = await context.raw({ method: "GET", url, headers: {} }, kind, { target });
  const text = await textOf(answer.body);
  const took = context.host.elapsed() - started;
  if (firstAnswer) {
    yield ok("reached", `in ${took} ms`);
    yield* server(answer.headers["x-version"]);
    yield* clock(answer.headers["date"], context);
  }
  const body = parsedJson(text);
  if (!isObject(body)) {
    yield finding(
      label,
      "problem",
      "the answer is no JSON: this is not the API",
      "check the base URL: it ends in /v1",
    );
    return;
  }
  const what =
    kind === "dataset"
      ? `opens ${String(body["total"])} knowledge bases`
      : `opens ${JSON.stringify(body["name"])}, mode ${String(body["mode"])}`;
  yield ok(label, `${shown} ${what}`);
}

function* server(version: string | undefined): Generator<Finding> {
  if (version === undefined) {
    yield finding(
      "server",
      "warning",
      "it does not tell its version",
      "a proxy may take the header away; hints for old servers will be missing",
    );
  } else if (olderThan(version, knownVersion)) {
    yield finding(
      "server",
      "warning",
      `version ${version}`,
      `event streams, forms and document replacing need ${knownVersion}`,
    );
  } else yield ok("server", `version ${version}`);
}

function* clock(date: string | undefined, { host }: Context): Generator<Finding> {
  const theirs = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirs)) return;
  const off = Math.round((host.now().getTime() - theirs) / 1000);
  if (Math.abs(off) <= clockTolerance) yield ok("clock", `${Math.abs(off)} s apart`);
  else
    yield finding(
      "clock",
      "warning",
      `this machine is ${Math.abs(off)} s ${off > 0 ? "ahead" : "behind"}`,
      "set the clock: time filters and certificates depend on it",
    );
}
