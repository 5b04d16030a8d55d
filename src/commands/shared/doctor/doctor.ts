import { limitedKeyHint } from "../../../api/api-error.ts";
import {
  profilePath,
  profileRisk,
  readProfiles,
  sandboxProfile,
} from "../../../config/profiles.ts";
import { settingsFor } from "../../../config/settings.ts";
import type { Settings, TargetFlags } from "../../../config/settings.ts";
import { programs, targetOf } from "../../../config/target.ts";
import { ApiError, CliError, usage } from "../../../errors.ts";
import type { FailureKind } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { KeyKind } from "../../../lib/api-key.ts";
import { commandLine, shellQuote } from "../../../lib/command-line.ts";
import { formatBytes, sum } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { atLeast, newestServer, version } from "../../../lib/version.ts";
import type { Input } from "../../../operations/operation.ts";
import { maskKey } from "../../../redact/keys.ts";
import type { Context } from "../../task/command-spec.ts";
import { countOpened, isBoundKey, readKey, readServer } from "../../task/read-server.ts";
import { capabilities } from "./capabilities.ts";
import type { Programs } from "./capabilities.ts";
import type { doctorParams } from "./command.ts";
import { rememberedIn, rememberedRuns } from "../../../host/remembered-runs.ts";
import { readErrorLog } from "../../../host/error-log.ts";
import type { LoggedError, LoggedRequest } from "../../../host/error-log.ts";

/** The result of one check; `next` is what to do about it. */
interface CheckResult {
  readonly check: string;
  readonly result: "ok" | "warning" | "problem";
  readonly found: string;
  readonly next: string | null;
  readonly kind?: FailureKind;
}

/** Clock differences up to this many seconds are ignored. */
const CLOCK_TOLERANCE = 30;
/** Version that all features need. */
const REQUIRED_VERSION = "1.14.0";

const ok = (check: string, found: string): CheckResult => ({
  check,
  result: "ok",
  found,
  next: null,
});
const warning = (check: string, found: string, next: string): CheckResult => ({
  ...ok(check, found),
  result: "warning",
  next,
});
const problem = (check: string, found: string, next: string, kind: FailureKind): CheckResult => ({
  ...ok(check, found),
  result: "problem",
  next,
  kind,
});
const problemOf = (check: string, { message, info, kind }: CliError): CheckResult =>
  problem(check, message, info.hint ?? "", kind);

/** `doctor`, for which the lists name the commands of a program and what shows that a server has them. */
export const doctorOf = (programs: Programs) => ({
  run: (input: Input<typeof doctorParams>, context: Context) => examine(input, programs, context),
});

/** Checks everything, shows a logged error, or lists what the server supports. */
async function* examine(
  input: Input<typeof doctorParams>,
  programs: Programs,
  context: Context,
): AsyncGenerator<unknown> {
  if (input.last_error !== undefined && input.capabilities) {
    throw usage("--last-error and --capabilities cannot be used together");
  }
  if (input.capabilities) yield* capabilities(programs, context);
  else if (input.last_error !== undefined) yield* lastError(input.last_error, context);
  else yield* diagnose(context);
}

/** Runs all checks, with reads only. Throws the first problem at the end. */
async function* diagnose(context: Context): AsyncGenerator<unknown> {
  const problems: CheckResult[] = [];
  const { secrets } = context.host;
  for await (const result of checks(context)) {
    // Often text of the server, and pasted into bug reports.
    const { kind, ...row } = { ...result, found: secrets.masked(result.found) };
    if (kind !== undefined) problems.push({ ...row, kind });
    yield row;
  }
  const [first] = problems;
  if (!first?.kind) return;
  const count = counted(problems.length, "problem");
  // What each check found, and what to do next, stands in its row.
  const names = firstNames(problems.map(({ check }) => check));
  throw new CliError(first.kind, `${count} found: ${names}`, {
    code: "doctor",
    isResult: true,
    sideEffect: "none",
  });
}

async function* checks(context: Context): AsyncGenerator<CheckResult> {
  const { host, options } = context;
  yield ok("program", `${options.program} ${version} (node ${host.platform})`);
  yield* checkProfiles(context);
  const settings = await trySettings(options.flags, host);
  if (settings instanceof CliError) return yield problemOf("settings", settings);
  const { baseUrl } = settings;
  if (baseUrl.value === undefined) {
    const login = commandLine(`${options.program} login`);
    return yield problem("base URL", "not set", `sign in with ${login}`, "usage");
  }
  yield ok("base URL", `${baseUrl.value} (${baseUrl.source})`);
  if (!new URL(baseUrl.value).pathname.endsWith("/v1")) {
    yield warning("base URL", "does not end in /v1", "most servers expose the API under /v1");
  }
  const { value, source } = settings.rememberRuns;
  const runs = await rememberedRuns(host);
  const size = formatBytes(sum(runs.map((run) => run.size)));
  const stored = `${counted(runs.length, "run")}, ${size} in ${rememberedIn(host)}`;
  yield ok("remembered runs", `${value} (${source}); ${stored}`);
  let reachable = true;
  for await (const result of checkServer(baseUrl.value, context)) {
    reachable &&= result.kind === undefined;
    yield result;
  }
  if (!reachable) return;
  for (const [kind, app] of keysToCheck(settings)) {
    const result = await checkKeyOf(kind, app, settings, context);
    yield result;
    if (result.kind === "network") return;
  }
  yield ok(
    "connections",
    "parallel requests: 3 at first, up to 8 (--concurrency); a default server serves 10 at a time",
  );
}

async function* checkProfiles({ host }: Context): AsyncGenerator<CheckResult> {
  const path = profilePath(host);
  const stat = await host.files.stat(path);
  if (!stat) {
    yield ok("profiles", "none stored; using the environment");
    return;
  }
  const names = Object.keys((await readProfiles(host)).profiles);
  yield ok("profiles", `${names.join(", ") || "none"} in ${path}`);
  if ((stat.mode & 0o077) !== 0 && !host.platform.includes("win32")) {
    yield warning("profiles", "other users can read the keys", `run chmod 600 ${shellQuote(path)}`);
  }
  const risk = profileRisk(host);
  if (risk) yield warning("profiles", `others can change the profiles: ${risk.reason}`, risk.hint);
}

/** The settings, or what is wrong with a value, a key command or the keyring. */
async function trySettings(flags: TargetFlags, host: Host): Promise<Settings | CliError> {
  try {
    return await settingsFor(flags, host, { key: "both" });
  } catch (error) {
    if (error instanceof CliError && ["auth", "usage"].includes(error.kind)) return error;
    throw error;
  }
}

async function* checkServer(baseUrl: string, context: Context): AsyncGenerator<CheckResult> {
  const start = context.host.elapsed();
  const server = await readServer(baseUrl, context).catch((error: unknown) => {
    if (context.host.signal.aborted) throw context.abortError();
    if (error instanceof CliError) return error;
    throw error;
  });
  if (server instanceof CliError) return yield problemOf("reached", server);
  yield ok("reached", `in ${context.host.elapsed() - start} ms`);
  yield checkVersion(server.version);
  yield* checkClock(server.date, context);
}

function checkVersion(serverVersion: string | undefined): CheckResult {
  if (serverVersion === undefined) {
    return warning(
      "server",
      "version unknown: no X-Version header",
      "a proxy may have removed it; hints for older servers are not available",
    );
  }
  if (!atLeast(newestServer, serverVersion)) {
    const next = `newer than ${newestServer}, the newest tested version: what it rejects, how it splits texts and the order of its events may differ`;
    return warning("server", `version ${serverVersion}`, next);
  }
  if (atLeast(serverVersion, REQUIRED_VERSION)) return ok("server", `version ${serverVersion}`);
  const next = `update it: event streams, forms and document replacement need ${REQUIRED_VERSION}`;
  return warning("server", `version ${serverVersion}`, next);
}

function* checkClock(date: string | undefined, { host }: Context): Generator<CheckResult> {
  const serverTime = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(serverTime)) return;
  const seconds = Math.round((host.now().getTime() - serverTime) / 1000);
  const difference = `${Math.abs(seconds)} s`;
  if (Math.abs(seconds) <= CLOCK_TOLERANCE) return yield ok("clock", `${difference} difference`);
  yield warning(
    "clock",
    `the local clock is ${difference} ${seconds > 0 ? "ahead" : "behind"}`,
    "set the clock: time filters and certificates depend on it",
  );
}

/** The knowledge key, and the key of each application of the profile or that of the environment. */
function keysToCheck({ appKey, apps, stored }: Settings): [KeyKind, app: string | undefined][] {
  const fromProfile =
    stored !== undefined && (appKey.value === undefined || appKey.source.startsWith(stored.source));
  const named = fromProfile && stored.name !== sandboxProfile && apps.length > 0;
  const appKeys = (named ? apps : [undefined]).map((app): [KeyKind, string | undefined] => [
    "app",
    app,
  ]);
  return [["dataset", undefined], ...appKeys];
}

function keyLabel(kind: KeyKind, app: string | undefined): string {
  if (kind === "dataset") return "knowledge key";
  return app === undefined ? "application key" : `key of ${app}`;
}

async function checkKeyOf(
  kind: KeyKind,
  app: string | undefined,
  common: Settings,
  context: Context,
): Promise<CheckResult> {
  const { host, options } = context;
  const label = keyLabel(kind, app);
  const settings = app === undefined ? common : await trySettings({ ...options.flags, app }, host);
  if (settings instanceof CliError) return problemOf(label, settings);
  const key = kind === "dataset" ? settings.knowledgeKey : settings.appKey;
  if (key.value === undefined) {
    const name = settings.profile.value === undefined ? [] : [settings.profile.value];
    const login = commandLine(`${programs[kind]} login`, name);
    const variable = kind === "dataset" ? "KB_KEY" : "KB_APP_KEY";
    const next = `${programs[kind]} needs one: sign in with ${login}, or set ${variable}`;
    return warning(label, "not set", next);
  }
  try {
    const { opens } = await readKey(kind, targetOf(settings, kind), context);
    return ok(label, `${maskKey(key.value)} (${key.source}) ${opens}`);
  } catch (error) {
    if (host.signal.aborted) throw context.abortError();
    if (!(error instanceof CliError)) throw error;
    if (isBoundKey(kind, error)) return checkBoundKey(label, settings, error, context);
    if (!(error instanceof ApiError)) return problemOf(label, error);
    // The usual hint is to run doctor.
    const next = "check the key in the platform's settings";
    return error.kind === "auth"
      ? problem(label, error.message, next, error.kind)
      : problemOf(label, error);
  }
}

/** Checks a knowledge key that the server accepts but not for the list: it opens single ones only. */
async function checkBoundKey(
  label: string,
  settings: Settings,
  error: ApiError,
  context: Context,
): Promise<CheckResult> {
  const ids = [...new Set(Object.values(settings.bases))];
  const opened = await countOpened(ids, targetOf(settings, "dataset"), context);
  if (opened > 0) {
    return ok(label, `opens only some knowledge bases: ${opened} of the ${ids.length} configured`);
  }
  return problem(
    label,
    `${error.message}: the key is valid, but opens only some knowledge bases, or none`,
    limitedKeyHint,
    error.kind,
  );
}

/** `doctor --last-error n`: the nth last logged error, as text or as data. Sends nothing. */
async function* lastError(n: number, context: Context): AsyncGenerator<unknown> {
  const log = await readErrorLog(context.host);
  const error = log[n - 1];
  const asText = context.options.format === undefined;
  if (error) yield asText ? errorText(error) : error;
  else if (!asText) yield null;
  else if (log.length === 0) await context.notice("no errors logged");
  else await context.notice(`only ${log.length} errors logged`);
}

function errorText({ error, ...logged }: LoggedError): string {
  const field = (name: string, label = name.replace("_", " ")) =>
    error[name] === null || error[name] === undefined ? [] : [`${label} ${String(error[name])}`];
  const facts = [
    ...field("code"),
    ...field("exit"),
    ...field("http_status", "status"),
    ...field("server_code"),
    ...field("request_id"),
  ];
  const { requests, sent, curl } = logged;
  return [
    `${logged.time}  ${logged.program}, ${logged.platform}`,
    `command: ${logged.command}`,
    `error: ${String(error["message"])}`,
    `  ${facts.join(", ")}`,
    ...field("hint", "hint:"),
    `requests: ${sent}${sent > requests.length ? `, the last ${requests.length}:` : ""}`,
    ...requests.map(requestText),
    ...(curl === null ? [] : ["the failed request, with its key in a variable:", `  ${curl}`]),
    ...(logged.stack ?? []),
  ].join("\n");
}

function requestText({ method, path, status, failure, ms, waited_ms }: LoggedRequest): string {
  const result = status ?? `no response (${failure ?? "canceled"})`;
  const wait = waited_ms === null ? "" : `, then waited ${Math.round(waited_ms)} ms`;
  return `  ${method} ${path}: ${result} in ${ms ?? "?"} ms${wait}`;
}
