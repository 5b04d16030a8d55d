import { abortError } from "../api/abort.ts";
import { CliError, reasonOf } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { own } from "../lib/json.ts";
import { baseUrlOf, isLoopback } from "./base-url.ts";
import { readStoredKey } from "./stored-keys.ts";
import type { Owner } from "./stored-keys.ts";
import { readProfiles } from "./profiles.ts";
import type { Profile, StoredKey } from "./profiles.ts";

/** A value and where it came from, for `config explain`. */
export interface Setting<T = string> {
  readonly value: T | undefined;
  readonly source: string;
}

/** What the command line says about the target. */
export interface TargetFlags {
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly app?: string | undefined;
  readonly user?: string | undefined;
  readonly output?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly insecureHttp?: boolean | undefined;
}

/** Everything that decides where a command goes and as whom. */
export interface Settings {
  readonly profile: Setting;
  readonly baseUrl: Setting;
  readonly knowledgeKey: Setting;
  readonly appKey: Setting;
  readonly app: Setting;
  readonly user: Setting;
  readonly output: Setting;
  readonly readOnly: Setting<boolean>;
  /** Names of the applications of the profile, for hints. */
  readonly apps: readonly string[];
  /** Ids of the knowledge bases that the key is known to open, by the names they were given. */
  readonly bases: Readonly<Record<string, string>>;
  /** The profile in use: its keys go to its own base URL only. */
  readonly stored:
    | { readonly name: string; readonly source: string; readonly baseUrl: string | undefined }
    | undefined;
}

const unset: Setting = { value: undefined, source: "not set" };

/** The end user where nobody names one: the same on every machine, so that a run can be followed. */
const fixedUser = "kb-wf";

/** Name of the built-in profile that reaches the local sandbox. */
export const sandboxProfile = "sandbox";

/** State file of a running sandbox, inside the state folder. */
export const sandboxStatePath = (host: Host): string => `${host.directories.state}/sandbox.json`;

/**
 * Finds every setting: flag, `-p` on the line, environment, stored profile, `DIFY_*`, built-in.
 * `needs` says which keys matter, and whether it may be fetched from a command or the keyring; when flags and
 * environment hold all, no file is read.
 */
export async function settingsFor(
  flags: TargetFlags,
  host: Host,
  needs: { readonly key: "dataset" | "app" | "both" | undefined; readonly run?: boolean },
): Promise<Settings> {
  const env = (name: string): string | undefined => host.env[name] || undefined;
  const onLine = flags.profile;
  const named = onLine ?? env("KB_PROFILE");
  const keyInEnv =
    needs.key === "dataset"
      ? env("KB_KEY")
      : needs.key === "app"
        ? env("KB_APP_KEY")
        : needs.key === undefined;
  const complete =
    named === undefined &&
    flags.app === undefined &&
    env("KB_APP") === undefined &&
    (flags.baseUrl ?? env("KB_BASE_URL")) !== undefined &&
    Boolean(keyInEnv);
  const { name, profile, source } = complete
    ? { name: undefined, profile: undefined, source: "" }
    : await chosenProfile(named, onLine !== undefined, host);

  const fromProfile = (field: "base_url" | "user" | "output"): Setting => {
    const value = profile?.[field];
    return value === undefined ? unset : { value, source };
  };
  /** `-p` on the line stands before the environment, KB_PROFILE and the default behind it. */
  const pick = (
    flag: Setting | undefined,
    environment: readonly string[],
    stored: Setting,
    lower: readonly string[],
    builtIn: Setting = unset,
  ): Setting => {
    const variables = (names: readonly string[]) =>
      names
        .filter((variable) => env(variable) !== undefined)
        .map((variable) => ({ value: env(variable), source: variable }));
    const order = [
      ...(flag?.value === undefined ? [] : [flag]),
      ...(onLine !== undefined && stored !== unset ? [stored] : []),
      ...variables(environment),
      ...(stored === unset ? [] : [stored]), // a key that was not fetched is one, too
      ...variables(lower),
    ];
    return order[0] ?? builtIn;
  };

  const url = pick(
    { value: flags.baseUrl, source: "--base-url" },
    ["KB_BASE_URL"],
    fromProfile("base_url"),
    ["DIFY_BASE_URL", "DIFY_API_URL"],
  );
  const insecure = flags.insecureHttp ?? false;
  const baseUrl =
    url.value === undefined ? unset : { value: baseUrlOf(url.value, insecure), source: url.source };

  const app = pick(
    { value: flags.app, source: "--app" },
    ["KB_APP"],
    appDefault(profile, source),
    [],
  );
  if (needs.key === "app" || needs.key === "both") checkApp(app, profile, name);
  const entry = app.value === undefined ? undefined : own(profile?.apps, app.value);
  const owner = (its: string | undefined): Owner => ({
    profile: name ?? "",
    baseUrl: profile?.base_url,
    app: its,
  });
  /** Is this key fetched, from a command or the keyring? Not when another one goes before it. */
  const runs = (kind: "dataset" | "app") =>
    needs.run !== false && (needs.key === kind || needs.key === "both");
  const dify = env("DIFY_API_KEY");
  const difyIsApp = isAppKey(dify);
  const knowledgeKey = pick(
    undefined,
    ["KB_KEY"],
    await storedKey(
      profile,
      owner(undefined),
      source,
      host,
      runs("dataset") && !(env("KB_KEY") !== undefined && onLine === undefined),
    ),
    difyIsApp ? [] : ["DIFY_API_KEY"],
  );
  // `--app` and `-p` name a stored application: the key of the environment would be another one.
  const appFlag = flags.app !== undefined || onLine !== undefined;
  const storedApp = await storedKey(
    entry,
    owner(app.value),
    `${source}, application ${app.value}`,
    host,
    runs("app") && (appFlag || env("KB_APP_KEY") === undefined),
  );
  const appKey =
    appFlag && storedApp !== unset
      ? storedApp
      : pick(undefined, ["KB_APP_KEY"], storedApp, difyIsApp ? ["DIFY_API_KEY"] : []);

  return {
    profile: {
      value: name,
      source: onLine !== undefined ? "-p" : source === "" ? "not set" : source,
    },
    baseUrl,
    knowledgeKey,
    appKey,
    app,
    user: pick({ value: flags.user, source: "--user" }, ["KB_USER"], fromProfile("user"), [], {
      value: fixedUser,
      source: "built-in",
    }),
    output: pick({ value: flags.output, source: "-o" }, ["KB_OUTPUT"], fromProfile("output"), []),
    readOnly: flags.readOnly
      ? { value: true, source: "--read-only" }
      : profile?.read_only
        ? { value: true, source }
        : { value: false, source: "built-in" },
    apps: Object.keys(profile?.apps ?? {}),
    bases: basesIn(env("KB_DATASET_IDS")) ?? profile?.knowledge_bases ?? {},
    stored: profile && name !== undefined ? { name, source, baseUrl: profile.base_url } : undefined,
  };
}

/** `Handbook=ID, ID`: ids by name; one without a name is its own. Throws usage for what is no UUID. */
export function basesIn(text: string | undefined): Readonly<Record<string, string>> | undefined {
  const parts = text?.split(",").map((part) => part.trim());
  return parts && Object.fromEntries(parts.filter((part) => part !== "").map(baseOf));
}

/** `Handbook=ID` → name and id. Throws usage. */
export function baseOf(text: string): readonly [name: string, id: string] {
  const at = text.lastIndexOf("=");
  const id = text.slice(at + 1).trim();
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) {
    throw new CliError("usage", `${JSON.stringify(text)} names no knowledge base: invalid id`, {
      sideEffect: "none",
      hint: "name=id, or the id alone; ids are UUIDs",
    });
  }
  return [at > 0 ? text.slice(0, at).trim() : id, id.toLowerCase()];
}

const appDefault = (profile: Profile | undefined, source: string): Setting => {
  const names = Object.keys(profile?.apps ?? {});
  const value = profile?.default_app ?? (names.length === 1 ? names[0] : undefined);
  return value === undefined ? unset : { value, source };
};

function checkApp(app: Setting, profile: Profile | undefined, name: string | undefined): void {
  if (app.value === undefined || own(profile?.apps, app.value) !== undefined) return;
  const known = Object.keys(profile?.apps ?? {});
  throw new CliError(
    "usage",
    `there is no application "${app.value}"${name === undefined ? ": no profile is in use" : ` in the profile ${name}`}`,
    {
      sideEffect: "none",
      hint:
        known.length > 0
          ? `it has: ${known.join(", ")}`
          : `add it: wf profile add ${name ?? "<name>"} --app ${app.value} --key-file -`,
    },
  );
}

const isAppKey = (key: string | undefined): boolean => key?.startsWith("app-") ?? false;

/** The key as stored, or as its command or the keyring gives it when it is needed. */
async function storedKey(
  entry: StoredKey | undefined,
  owner: Owner,
  source: string,
  host: Host,
  needed: boolean,
): Promise<Setting> {
  if (entry?.key_in !== undefined) {
    const from = `${source}, in the keyring`;
    return {
      value: needed ? known(await readStoredKey(owner, host), host) : undefined,
      source: from,
    };
  }
  if (entry?.key !== undefined) return { value: known(entry.key, host), source };
  if (entry?.key_command === undefined) return unset;
  const from = `${source}, from a command`;
  if (!needed) return { value: undefined, source: from };
  return { value: known(await printedKey(entry.key_command, source, host), host), source: from };
}

/** A key that is in use from now on. */
function known(key: string, host: Host): string {
  host.secrets.learn(key);
  return key;
}

/** Bytes that a key command may write. */
const longestAnswer = 64 * 1024;

/** The key that a command prints; it ends with the host's signal. */
async function printedKey(command: string, source: string, host: Host): Promise<string> {
  const { signal } = host;
  const child = host.spawn(command, [], { collect: longestAnswer, shell: true, signal });
  const refused = (why: string, cause?: unknown) =>
    new CliError("auth", `the key command of ${source} ${why}`, {
      sideEffect: "none",
      cause,
      hint: `run it by itself: ${command}`,
    });
  const ended = await Promise.all([child.exit, child.output]).catch((cause: unknown) => {
    throw signal.aborted ? abortError(signal, false) : refused(`failed: ${reasonOf(cause)}`, cause);
  });
  if (signal.aborted) throw abortError(signal, false);
  const [exit, output] = ended;
  const value = output.trim();
  if (exit === 0 && value !== "") return value;
  throw refused(`gave no key (exit ${exit})`);
}

async function chosenProfile(named: string | undefined, onLine: boolean, host: Host) {
  const nothing = { name: undefined, profile: undefined, source: "" };
  if (named === sandboxProfile) {
    const profile = await runningSandbox(host);
    return { name: named, profile, source: "profile sandbox (built-in)" };
  }
  const stored = await readProfiles(host);
  const name = named ?? stored.default;
  if (name === undefined) return nothing;
  const profile = own(stored.profiles, name);
  if (!profile) {
    const known = Object.keys(stored.profiles);
    throw new CliError(
      "usage",
      `there is no profile "${name}" (${onLine ? "-p" : named ? "KB_PROFILE" : "the default"})`,
      {
        sideEffect: "none",
        hint:
          known.length > 0 ? `there are: ${known.join(", ")}` : "add one: kb profile add <name>",
      },
    );
  }
  return { name, profile, source: `profile ${name}` };
}

/** Applications of the sandbox; their keys are public. */
export const sandboxApps =
  "echo review slow broken loop chat chat-review two-reviews convo inputs retry tolerant flaky batch".split(
    " ",
  );

/** The built-in profile: address of the sandbox that runs, if one does, and its public keys. */
async function runningSandbox(host: Host): Promise<Profile> {
  const apps = Object.fromEntries(sandboxApps.map((name) => [name, { key: `app-${name}` }]));
  const profile: Profile = { key: "dataset-sandbox", apps, default_app: "echo" };
  try {
    const text = new TextDecoder().decode(await host.files.read(sandboxStatePath(host)));
    const state = JSON.parse(text) as { base_url?: unknown }; // checked in the next line
    return typeof state.base_url === "string" ? { ...profile, base_url: state.base_url } : profile;
  } catch {
    return profile; // no sandbox runs: the environment may name one
  }
}

/** A stored key goes to its own profile's base URL only; the sandbox's to this machine only. */
function guardStoredKey({ baseUrl, stored }: Settings, key: Setting): void {
  if (!stored || baseUrl.value === undefined || !key.source.startsWith(stored.source)) return;
  if (stored.name === sandboxProfile) {
    if (isLoopback(new URL(baseUrl.value).hostname)) return;
  } else if (stored.baseUrl !== undefined && baseUrlOf(stored.baseUrl, true) === baseUrl.value) {
    return;
  }
  throw new CliError(
    "usage",
    `the key of the profile ${stored.name} belongs to ${stored.baseUrl ?? "no base URL"}, but the base URL is ${baseUrl.value} (${baseUrl.source})`,
    {
      sideEffect: "none",
      hint: "name the profile of that server with -p, or set KB_KEY or KB_APP_KEY",
    },
  );
}

/** Where a command goes: checked base URL and the key of its kind. Throws usage or auth. */
export function targetOf(
  settings: Settings,
  kind: "dataset" | "app",
): { readonly baseUrl: string; readonly key: string } {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) {
    const ofSandbox = settings.profile.value === sandboxProfile;
    throw new CliError("usage", ofSandbox ? "no sandbox is running" : "no base URL is known", {
      sideEffect: "none",
      hint: ofSandbox
        ? "start one: kb sandbox"
        : "set KB_BASE_URL, add a profile with `kb profile add`, or try `kb sandbox`",
    });
  }
  const own = kind === "dataset" ? settings.knowledgeKey : settings.appKey;
  const other = kind === "dataset" ? settings.appKey : settings.knowledgeKey;
  const chosen = own.value === undefined && unknownKind(other.value) ? other : own;
  const key = chosen.value;
  const wanted = kind === "dataset" ? "a knowledge key (dataset-…)" : "an application key (app-…)";
  if (key === undefined) {
    const app = kind === "app" && settings.apps.length > 0;
    throw new CliError("auth", `this command takes ${wanted}, and none is known`, {
      sideEffect: "none",
      hint: app
        ? `choose an application with --app: ${settings.apps.join(", ")}`
        : `set ${kind === "dataset" ? "KB_KEY" : "KB_APP_KEY"}, or store one with \`kb profile add\``,
    });
  }
  guardStoredKey(settings, chosen);
  checkKey(key, `the key from ${chosen.source}`);
  const isOther = kind === "dataset" ? isAppKey(key) : key.startsWith("dataset-");
  if (isOther) {
    const found = kind === "dataset" ? "an application key (app-…)" : "a knowledge key (dataset-…)";
    throw new CliError("auth", `this command takes ${wanted}; ${chosen.source} holds ${found}`, {
      sideEffect: "none",
      hint: kind === "dataset" ? "`wf` takes application keys" : "`kb` takes knowledge keys",
    });
  }
  return { baseUrl, key };
}

const unknownKind = (key: string | undefined): boolean =>
  key !== undefined && !isAppKey(key) && !key.startsWith("dataset-");

/** No key is longer: what is longer is another file. */
const longestKey = 4096;

function whyNoKey(key: string): string | undefined {
  if (key.length > longestKey) return `is ${key.length} characters long: that is no key`;
  if (/[^\x21-\x7e]/.test(key)) return "holds blanks, line ends or characters no key has";
  return undefined;
}

/** Refuses what is plainly no key, and quotes nothing of it. Throws usage. */
export function checkKey(key: string, what: string): void {
  const why = whyNoKey(key);
  if (why === undefined) return;
  throw new CliError("usage", `${what} ${why}`, {
    sideEffect: "none",
    hint: "copy the key alone again: one line, without quotes",
  });
}

/** A key as it may be shown: all but the last four characters masked. */
export const masked = (key: string): string =>
  key.length <= 8 || whyNoKey(key) !== undefined
    ? "****"
    : `${/^(app-|dataset-)/.exec(key)?.[0] ?? ""}****${key.slice(-4)}`;
