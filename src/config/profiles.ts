import { problemIn } from "../api/response.ts";
import { CliError, abortError, usage } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { backoff, delays } from "../lib/backoff.ts";
import { commandLine, shellQuote } from "../lib/command-line.ts";
import { isOn } from "../lib/environment.ts";
import { attempt, isObject, tryParseJson } from "../lib/json.ts";
import { parseDuration } from "../lib/numbers.ts";

/** A key, in one of three places. */
export interface StoredKey {
  readonly key?: string;
  /** Command that prints the key. */
  readonly key_command?: string;
  /** The key is in the keyring (config/stored-keys.ts), not in the file. */
  readonly key_in?: "keyring";
}

/** An application of a profile: it has a key of its own, or an ID by which the access token opens it. */
export interface StoredApp extends StoredKey {
  readonly app_id?: string;
}

/** A profile. Field names are those of the file; the key is the knowledge key. */
export interface Profile extends StoredKey {
  readonly base_url?: string;
  /** The key for what has none of its own (server §2.2). */
  readonly access_token?: StoredKey;
  /** Address of the web console, if it is not that of the API without its path. */
  readonly console_url?: string;
  /** Applications by name. */
  readonly apps?: Readonly<Record<string, StoredApp>>;
  readonly default_app?: string;
  readonly user?: string;
  readonly output?: string;
  /** How long the events of runs are remembered: `30d`, or `off`. */
  readonly remember_runs?: string;
  readonly read_only?: boolean;
  /** IDs by name of the knowledge bases that the key opens, if it does not open all of them. */
  readonly knowledge_bases?: Readonly<Record<string, string>>;
}

/** Content of the profile file. */
export interface ProfileStore {
  readonly default?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** Whether a key is stored, in any of the three places. */
export const hasKey = ({ key, key_command, key_in }: StoredKey): boolean =>
  (key ?? key_command ?? key_in) !== undefined;

/** Path of the profile file. */
export const profilePath = (host: Host): string => `${host.directories.config}/profiles.json`;

/** How others could change the profile file, and with it the key command that runs; undefined if they cannot. */
export function profileRisk(
  host: Host,
): { readonly reason: string; readonly hint: string } | undefined {
  const part = host.files.untrustedPart(profilePath(host));
  if (part === undefined || isOn(host.env["KB_TRUST_FILES"])) return undefined;
  const { path, reason, isWritable } = part;
  const remedy = isWritable
    ? `run chmod go-w ${shellQuote(path)}`
    : "keep the profiles in a directory of your own (KB_CONFIG_DIR)";
  const anyway =
    "if only you can change it all the same, as in some containers, set KB_TRUST_FILES=1";
  return { reason: `${path} ${reason}`, hint: `${remedy}; ${anyway}` };
}

/**
 * Reads the profile file; a missing one has no profiles. If it is damaged, throws usage with file and
 * line, but does not quote it, because it holds keys.
 */
export async function readProfiles(host: Host): Promise<ProfileStore> {
  const path = profilePath(host);
  const stat = await host.files.stat(path);
  if (!stat) return withoutFile(host);
  if (stat.isDirectory) throw damaged(path, "is a directory");
  // Not by conf, which writes the file: it takes 30 ms to load, as long as a whole start.
  const text = new TextDecoder().decode(await host.files.read(path));
  try {
    const value: unknown = JSON.parse(text, (_, each: unknown) => each ?? undefined);
    const problem = problemIn(storeFields, value, "");
    // A value could be a misplaced key.
    if (problem !== undefined) throw damaged(path, problem.replace(/ is "[^]*", not /, " is not "));
    const store = value as Partial<ProfileStore>; // all fields are checked
    return { ...store, profiles: store.profiles ?? {} };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw damaged(path, `line ${lineOf(text, error)} is not valid JSON`);
  }
}

/** No profiles. Throws usage for a file in the place of their directory, which would look empty. */
async function withoutFile({ directories: { config }, files }: Host): Promise<ProfileStore> {
  if ((await files.stat(config))?.isDirectory === false)
    throw usage(
      `${config}: not a directory`,
      "set KB_CONFIG_DIR to a directory, or move the file away",
    );
  return { profiles: {} };
}

const keyFields = { "key?": "text", "key_command?": "text", "key_in?": "=keyring" } as const;
const storeFields = {
  "default?": "text",
  "profiles?": {
    "*": {
      ...keyFields,
      "base_url?": "text",
      "console_url?": "text",
      "default_app?": "text",
      "user?": "text",
      "output?": "text",
      "remember_runs?": "text",
      "read_only?": "flag",
      "knowledge_bases?": { "*": "text" },
      "access_token?": keyFields,
      "apps?": { "*": { ...keyFields, "app_id?": "text" } },
    },
  },
} as const;

/** A change of the profile file. */
export interface ProfileChange<T> {
  readonly store: ProfileStore;
  readonly result: T;
  /** Runs after the write, while the file is still locked. */
  readonly after?: () => Promise<void>;
}

/** How long to wait for the lock of the profile file, and after what time to say so. */
const LOCK_TIMEOUT_MS = 30_000;
const LOCK_NOTICE_MS = 500;

interface Waiting {
  readonly host: Host;
  notice(text: string): Promise<void>;
}

/**
 * Changes the profile file. It is locked from before it is read until `after` is done, so concurrent
 * changes are kept. Throws failure if another process does not release the lock.
 */
export async function changeProfiles<T>(
  { host, notice }: Waiting,
  change: (store: ProfileStore) => Promise<ProfileChange<T>>,
): Promise<T> {
  await host.files.makeDirectory(host.directories.config, 0o700);
  const release = await lockProfiles({ host, notice });
  try {
    const { store, result, after } = await change(await readProfiles(host));
    await writeProfiles(host, store);
    await after?.();
    return result;
  } finally {
    release();
  }
}

async function lockProfiles({ host, notice }: Waiting): Promise<() => void> {
  const start = host.elapsed();
  let isTold = false;
  for (;;) {
    const lock = await host.files.lock(`${profilePath(host)}.lock`, host.process);
    if ("release" in lock) return lock.release;
    if (host.signal.aborted) throw abortError(host.signal);
    const waited = host.elapsed() - start;
    if (waited >= LOCK_TIMEOUT_MS) {
      throw new CliError("failure", `the profile file is locked by ${lock.heldBy}`, {
        sideEffect: "none",
        hint: lock.next,
      });
    }
    if (!isTold && waited >= LOCK_NOTICE_MS) {
      isTold = true;
      await notice(`waiting for the profile file, locked by ${lock.heldBy}: ${lock.next}`);
    }
    const delay = backoff(0, delays.lock) * (0.5 + host.random() / 2);
    await host.sleep(delay, host.signal).catch(() => {}); // checked above
  }
}

/** Replaces the profile file atomically, readable by its owner only. */
async function writeProfiles(host: Host, store: ProfileStore): Promise<void> {
  const { files } = host;
  const path = profilePath(host);
  // The file that a link points to is replaced, not the link.
  await files.writeSettings(await files.realPath(path).catch(() => path), store);
}

/** Line of a syntax error, from the position in V8's message if it has one. */
function lineOf(text: string, error: unknown): number {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  const before = position === undefined ? text : text.slice(0, Number(position));
  return before.split("\n").length;
}

const damaged = (path: string, problem: string) =>
  usage(
    `the profile file ${path} is damaged: ${problem}`,
    "fix the file, or move it away and sign in again",
  );

/** A value and where it came from, for `config explain`. */
export interface Setting<T = string> {
  readonly value: T | undefined;
  readonly source: string;
}

/** A setting without a value from any source. */
export const unset: Setting = { value: undefined, source: "not set" };

/** How long the events of runs are remembered, in ms; 0 for not at all. Throws usage. */
export function rememberedFor({ value = "off", source }: Setting): number {
  const ms = value === "off" || value === "0" ? 0 : parseDuration(value);
  if (ms !== undefined) return ms;
  throw usage(
    `how long to remember runs: ${JSON.stringify(value)} is not a duration (${source})`,
    "use a duration such as 30d, or off",
  );
}

/** Is this the local machine? */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  /^127(\.\d{1,3}){3}$/.test(hostname) ||
  hostname.endsWith(".localhost");

/** An address as people type it: `example.com` → `https://example.com`, http for this machine. */
export function withScheme(text: string): string {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return text;
  const hostname = attempt(() => new URL(`https://${text}`))?.hostname ?? "";
  return `${isLoopback(hostname) ? "http" : "https"}://${text}`;
}

/**
 * Normalizes a base URL: removes trailing slashes, appends `/v1` if it has no path. Throws usage for
 * anything else than http and https, for a password or query, and for http to another machine.
 */
export function baseUrlOf(text: string, insecureHttp: boolean): string {
  const url = attempt(() => new URL(text));
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  if (!isWeb && withScheme(text) !== text && attempt(() => new URL(withScheme(text)))) {
    const hint = `use ${withoutUrlSecrets(withScheme(text))}`;
    throw invalidUrl(text, "it has no http:// or https://", hint);
  }
  if (!url) throw invalidUrl(text, "not a URL", "use a URL such as https://example.com/v1");
  if (!isWeb) throw invalidUrl(text, `unsupported scheme ${url.protocol}`, "use https://");
  if (url.username !== "" || url.password !== "") {
    const hint = `remove it, and store the key with ${commandLine("kb login")}`;
    throw invalidUrl(text, "contains a user name or password", hint);
  }
  if (url.search !== "" || url.hash !== "") {
    throw invalidUrl(text, "contains a query or fragment", "use only the part up to /v1");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !insecureHttp) {
    const problem = "plain HTTP would send the key unencrypted";
    throw invalidUrl(text, problem, "use https://, or pass --insecure-http");
  }
  const path = url.pathname.replace(/(?<!\/)\/+$/, "");
  return `${url.origin}${path === "" ? "/v1" : path}`;
}

const invalidUrl = (text: string, problem: string, hint: string) =>
  usage(`invalid base URL "${withoutUrlSecrets(text)}": ${problem}`, hint);

/** `https://user:password@host` → `https://…`; the same for a query or fragment, which may hold a key. */
export const withoutUrlSecrets = (text: string): string =>
  /[@?#]/.test(text) ? text.replace(/^([a-z+.-]*:\/\/)?.*$/is, "$1…") : text;

/** Services whose web console has another host than their API, by origin of the API. */
const consoles: Readonly<Record<string, string>> = {
  "https://api.dify.ai": "https://cloud.dify.ai",
};

/** The address of the web console if none is configured: that of the API without its path. */
export function defaultConsoleUrl(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  return consoles[origin] ?? origin;
}

/**
 * Normalizes the address of a web console: completes a bare host and removes trailing slashes. Throws
 * usage for anything else than http and https, and for a password, query or fragment.
 */
export function consoleUrlOf(text: string): string {
  const url = attempt(() => new URL(withScheme(text)));
  const isPlain = url && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (!url || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw usage(
      `invalid address of the web console: "${withoutUrlSecrets(text)}"`,
      "use a URL such as https://example.com, without a user name, query or fragment",
    );
  }
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`;
}

/** Name of the built-in profile of the local sandbox. */
export const sandboxProfile = "sandbox";

/** State file of a running sandbox, in the state directory. */
export const sandboxStatePath = (host: Host): string => `${host.directories.state}/sandbox.json`;

/** Applications that every sandbox has; their keys are public. */
export const sandboxApps: readonly string[] =
  "echo review slow broken loop chat chat-review two-reviews convo inputs retry tolerant flaky batch ask write triage summarize assistant completion agent answers grader questioner".split(
    " ",
  );

/**
 * The built-in profile: public keys, and the base URL of the sandbox if one is running. Its
 * applications are those of the sandbox that this command runs in, or else of the running one.
 */
export async function readSandboxProfile(host: Host): Promise<Profile> {
  const state = await readState(host);
  const keys =
    keysIn(tryParseJson(host.env["KB_SANDBOX_APP_KEYS"] ?? "")) ??
    keysIn(state["apps"]) ??
    sandboxApps.map((name) => [name, `app-${name}`] as const);
  const profile: Profile = {
    key: "dataset-sandbox",
    apps: Object.fromEntries(keys.map(([name, key]) => [name, { key }])),
    default_app: "echo",
  };
  const { base_url } = state;
  return typeof base_url === "string" ? { ...profile, base_url } : profile;
}

/** The state of the running sandbox; empty if there is none: the environment may set the base URL. */
async function readState(host: Host): Promise<Record<string, unknown>> {
  const text = await host.files.read(sandboxStatePath(host)).catch(() => new Uint8Array());
  const state = tryParseJson(new TextDecoder().decode(text));
  return isObject(state) ? state : {};
}

/** The key of each application in a JSON object; undefined if it is not such an object. */
function keysIn(value: unknown): (readonly [name: string, key: string])[] | undefined {
  if (!isObject(value)) return undefined;
  return Object.entries(value).flatMap(([name, key]) =>
    typeof key === "string" ? [[name, key] as const] : [],
  );
}
