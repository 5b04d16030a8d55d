import { usage } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { mayOpen } from "../lib/api-key.ts";
import type { KeyKind } from "../lib/api-key.ts";
import { commandLine, shellQuote } from "../lib/command-line.ts";
import { didYouMean } from "../lib/did-you-mean.ts";
import { own } from "../lib/json.ts";
import { isUuid } from "../lib/text.ts";
import {
  baseUrlOf,
  consoleUrlOf,
  defaultConsoleUrl,
  hasKey,
  readProfiles,
  readSandboxProfile,
  rememberedFor,
  sandboxProfile,
  unset,
} from "./profiles.ts";
import type { Profile, ProfileStore, Setting } from "./profiles.ts";
import { keySetting } from "./stored-keys.ts";

/** Flags of the command line that select the target. */
export interface TargetFlags {
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly app?: string | undefined;
  readonly user?: string | undefined;
  readonly output?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly insecureHttp?: boolean | undefined;
}

/** The layers of one setting beside the profile. */
interface Layers {
  readonly flag?: string;
  readonly variable: string;
  /** Field of the profile that has the value as it is. */
  readonly field?: "base_url" | "user" | "output" | "remember_runs";
  readonly foreign?: readonly string[];
  readonly builtIn?: string;
}

const layers = {
  baseUrl: {
    flag: "--base-url",
    variable: "KB_BASE_URL",
    field: "base_url",
    foreign: ["DIFY_BASE_URL", "DIFY_API_URL"],
  },
  app: { flag: "--app", variable: "KB_APP" },
  // The same on every machine, so that a run can be followed from another one.
  user: { flag: "--user", variable: "KB_USER", field: "user", builtIn: "kb-wf" },
  output: { flag: "-o", variable: "KB_OUTPUT", field: "output" },
  rememberRuns: { variable: "KB_REMEMBER_RUNS", field: "remember_runs", builtIn: "off" },
  knowledgeKey: { variable: "KB_KEY", foreign: ["DIFY_API_KEY"] },
  appKey: { variable: "KB_APP_KEY", foreign: ["DIFY_API_KEY"] },
} as const satisfies Record<string, Layers>;

type SettingName = keyof typeof layers;

/** All settings of a command: where its requests go, with which key, for which user. */
export interface Settings extends Readonly<Record<SettingName | "profile", Setting>> {
  readonly readOnly: Setting<boolean>;
  /** ID of the application, where the profile or the command line has one: an access token opens several. */
  readonly appId: string | undefined;
  /** Names of the applications of the profile, for hints. */
  readonly apps: readonly string[];
  /** IDs by name of the knowledge bases that the key opens, if it does not open all of them. */
  readonly bases: Readonly<Record<string, string>>;
  /** The selected profile: its keys are only sent to its own base URL. */
  readonly stored:
    | {
        readonly name: string;
        readonly source: string;
        readonly baseUrl: string | undefined;
        readonly consoleUrl: string | undefined;
      }
    | undefined;
}

/** Which keys a command needs; with `run: false` none is read from a command or the keyring. */
interface KeyNeeds {
  readonly key: KeyKind | "both" | undefined;
  readonly run?: boolean;
}

/** The selected profile, and what its settings name as their source. */
interface SelectedProfile {
  readonly name: string | undefined;
  readonly profile: Profile | undefined;
  readonly source: string;
}

const noProfile: SelectedProfile = { name: undefined, profile: undefined, source: "" };

interface Sources extends SelectedProfile {
  readonly flags: TargetFlags;
  readonly host: Host;
  readonly needs: KeyNeeds;
}

/**
 * Resolves all settings. In order of precedence: flag, profile selected with `-p`, environment,
 * profile selected otherwise, `DIFY_*`, built-in default. If flags and environment set everything,
 * no file is read.
 */
export async function settingsFor(
  flags: TargetFlags,
  host: Host,
  needs: KeyNeeds,
): Promise<Settings> {
  const selected = isComplete(flags, host, needs)
    ? noProfile
    : await selectProfile(flags, host, needs);
  const sources: Sources = { ...selected, flags, host, needs };
  const { name, profile, source } = sources;
  const { value: baseUrl, source: baseUrlSource } = resolve("baseUrl", sources);
  const rememberRuns = resolve("rememberRuns", sources);
  rememberedFor(rememberRuns);
  const app = resolve("app", sources, defaultApp(sources));
  if (needs.key === "app" || needs.key === "both") await checkApp(app, sources);
  return {
    profile: { value: name, source: flags.profile === undefined ? source || "not set" : "-p" },
    baseUrl:
      baseUrl === undefined
        ? unset
        : { value: baseUrlOf(baseUrl, flags.insecureHttp ?? false), source: baseUrlSource },
    knowledgeKey: await resolveKey("dataset", sources),
    appKey: await resolveKey("app", sources, app.value),
    app,
    appId: own(profile?.apps, app.value ?? "")?.app_id ?? idIn(app.value),
    user: resolve("user", sources),
    output: resolve("output", sources),
    rememberRuns,
    readOnly: resolveReadOnly(sources),
    apps: Object.keys(profile?.apps ?? {}),
    bases: parseKnowledgeBases(variable(host, "KB_DATASET_IDS")) ?? profile?.knowledge_bases ?? {},
    stored:
      profile && name !== undefined
        ? { name, source, baseUrl: profile.base_url, consoleUrl: profile.console_url }
        : undefined,
  };
}

/** The ID that stands in the place of the name of an application. */
const idIn = (app: string | undefined) =>
  app !== undefined && isUuid(app) ? app.toLowerCase() : undefined;

/** An environment variable; an empty one counts as unset. */
const variable = (host: Host, name: string): string | undefined => host.env[name] || undefined;

/** Do flags and environment set everything, so that no profile is needed? */
function isComplete({ profile, app, baseUrl }: TargetFlags, host: Host, { key }: KeyNeeds) {
  if (profile !== undefined || app !== undefined || key === "both") return false;
  if (variable(host, "KB_PROFILE") ?? variable(host, "KB_APP")) return false;
  if ((baseUrl ?? variable(host, "KB_BASE_URL")) === undefined) return false;
  return key === undefined || variable(host, layers[keySettings[key]].variable) !== undefined;
}

const keySettings = { dataset: "knowledgeKey", app: "appKey" } as const;

/** The profile that the command line or the environment selects; undefined for the default one. */
export const selectedProfile = (
  { profile }: Pick<TargetFlags, "profile">,
  host: Host,
): string | undefined => profile ?? variable(host, "KB_PROFILE");

async function selectProfile(
  flags: TargetFlags,
  host: Host,
  { key }: KeyNeeds,
): Promise<SelectedProfile> {
  const selected = selectedProfile(flags, host);
  if (selected === sandboxProfile) return selectSandbox(host);
  const store = await readProfiles(host);
  const name = selected ?? store.default;
  if (name === undefined) return noProfile;
  if (name === sandboxProfile) return selectSandbox(host);
  const profile = own(store.profiles, name);
  if (profile) return { name, profile, source: `profile ${name}` };
  let source = "the default";
  if (flags.profile !== undefined) source = "-p";
  else if (selected !== undefined) source = "KB_PROFILE";
  const program = key === "app" ? "wf" : "kb";
  const isName = program === "wf" && /^[\w-]+$/.test(name);
  const orApp = isName ? `; an application is named by --app ${name}` : "";
  const hint = missingProfileHint(name, store, program);
  throw usage(`profile "${name}" not found (${source})`, hint.endsWith("?") ? hint : hint + orApp);
}

const selectSandbox = async (host: Host): Promise<SelectedProfile> => ({
  name: sandboxProfile,
  profile: await readSandboxProfile(host),
  source: `profile ${sandboxProfile} (built-in)`,
});

/**
 * The setting of highest precedence. `stored` is that of the profile; a stored key that was not read
 * counts, though without a value.
 */
function resolve(name: SettingName, sources: Sources, stored = profileSetting(name, sources)) {
  const { flags, host } = sources;
  const { flag, variable: own, foreign = [], builtIn }: Layers = layers[name];
  const fromEnv = (each: string): Setting => ({ value: variable(host, each), source: each });
  const order: readonly Setting[] = [
    { value: flag && flags[name as keyof TargetFlags & SettingName], source: flag ?? "" },
    flags.profile === undefined ? unset : stored,
    fromEnv(own),
    stored,
    ...foreign.map(fromEnv).filter(({ value }) => isKeyFor(name, value)),
    { value: builtIn, source: "built-in" },
  ];
  const isSet = (each: Setting) => each.value !== undefined || (each === stored && each !== unset);
  return order.find(isSet) ?? unset;
}

/** DIFY_API_KEY holds any kind of key; its prefix shows which. */
const isKeyFor = (name: SettingName, value: string | undefined): boolean =>
  !name.endsWith("Key") ||
  value === undefined ||
  mayOpen(value, name === "appKey" ? "app" : "dataset");

function profileSetting(name: SettingName, { profile, source }: Sources): Setting {
  const { field }: Layers = layers[name];
  const value = field && profile?.[field];
  return value === undefined ? unset : { value, source };
}

/** The default application of the profile, or its only one. */
function defaultApp({ profile, source }: Sources): Setting {
  const names = Object.keys(profile?.apps ?? {});
  const value = profile?.default_app ?? (names.length === 1 ? names[0] : undefined);
  return value === undefined ? unset : { value, source };
}

async function checkApp(app: Setting, { profile, name, host }: Sources): Promise<void> {
  const { value } = app;
  if (value === undefined || isUuid(value) || own(profile?.apps, value) !== undefined) return;
  const { profiles } = await readProfiles(host);
  const other = Object.keys(profiles).find(
    (each) => own(profiles[each]?.apps, value) !== undefined,
  );
  const names = Object.keys(profile?.apps ?? {});
  const where = name === undefined ? ": no profile is selected" : ` in profile ${name}`;
  throw usage(
    `application "${value}" not found${where}`,
    other === undefined
      ? missingAppHint(value, names, name)
      : `profile ${other} has it: add -p ${shellQuote(other)}`,
  );
}

async function resolveKey(kind: KeyKind, sources: Sources, app?: string): Promise<Setting> {
  const { flags, host, needs, name, profile, source } = sources;
  // `--app` and `-p` select a stored key: that of the environment is another one.
  const isSelected = flags.profile !== undefined || (kind === "app" && flags.app !== undefined);
  const setting = keySettings[kind];
  const isOverridden = variable(host, layers[setting].variable) !== undefined && !isSelected;
  const isNeeded = needs.run !== false && (needs.key === kind || needs.key === "both");
  const ofApp = app === undefined ? undefined : own(profile?.apps, app);
  const ownKey = (kind === "app" ? ofApp : profile) ?? {};
  const token = hasKey(ownKey) ? undefined : profile?.access_token;
  const ownSource = kind === "app" ? `${source}, application ${app}` : source;
  const stored = await keySetting(
    token ?? ownKey,
    {
      profile: name ?? "",
      baseUrl: profile?.base_url,
      ...(token ? { app: undefined, isToken: true } : { app }),
    },
    host,
    {
      source: token ? `${source}, access token` : ownSource,
      read: isNeeded && !isOverridden,
    },
  );
  return isSelected && stored !== unset ? stored : resolve(setting, sources, stored);
}

function resolveReadOnly({ flags, profile, source }: Sources): Setting<boolean> {
  if (flags.readOnly) return { value: true, source: "--read-only" };
  return profile?.read_only ? { value: true, source } : { value: false, source: "built-in" };
}

/** `Handbook=ID, ID` → IDs by name; an ID without a name is its own name. Throws usage. */
function parseKnowledgeBases(
  text: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const parts = text?.split(",").map((part) => part.trim());
  const named = parts?.filter((part) => part !== "");
  return (
    named && Object.fromEntries(named.map((part) => parseNamedId(part, "a knowledge base ID")))
  );
}

/** `Handbook=ID` → name and ID; an ID alone is its own name. Throws usage, saying `what` it should be. */
export function parseNamedId(text: string, what: string): readonly [name: string, id: string] {
  const equals = text.lastIndexOf("=");
  const id = text.slice(equals + 1).trim();
  if (!isUuid(id)) {
    throw usage(
      `${JSON.stringify(text)} does not end in ${what}`,
      "pass name=ID or only an ID; IDs are UUIDs",
    );
  }
  return [equals > 0 ? text.slice(0, equals).trim() : id, id.toLowerCase()];
}

/** The hint for a profile that does not exist: a similar name, all names, or how to sign in. */
export function missingProfileHint(name: string, { profiles }: ProfileStore, program: string) {
  if (name.includes("=") && program === "wf")
    return `-p selects a profile; inputs take no flag: wf run ${shellQuote(name)}`;
  const names = Object.keys(profiles);
  const near = didYouMean(name, [...names, sandboxProfile]);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  if (names.length > 0) return `stored profiles: ${names.join(", ")}`;
  return `no profiles are stored; sign in with ${commandLine(`${program} login`, [name])}`;
}

/** The hint for an application that a profile does not have: a similar name, all names, or how to add it. */
function missingAppHint(app: string, names: readonly string[], profile: string | undefined) {
  const several = app.split(",");
  if (several.length > 1 && several.every((each) => names.includes(each)))
    return `a command that takes several takes them one by one: ${several.map((each) => `--app ${each}`).join(" ")}`;
  const near = didYouMean(app, names);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  const add = commandLine("wf login", profile === undefined ? [] : [profile], { app });
  if (names.length === 0) return `add it with ${add}`;
  return `applications of the profile: ${names.join(", ")}; ${add} adds it`;
}

/** The address of the web console: that of the profile if requests go to the profile's own server. */
export function consoleSetting({ baseUrl, stored }: Pick<Settings, "baseUrl" | "stored">): Setting {
  if (baseUrl.value === undefined) return unset;
  const { baseUrl: own, consoleUrl } = stored ?? {};
  const isOwn = own !== undefined && baseUrlOf(own, true) === baseUrl.value;
  return stored && isOwn && consoleUrl !== undefined
    ? { value: consoleUrlOf(consoleUrl), source: stored.source }
    : { value: defaultConsoleUrl(baseUrl.value), source: "built-in" };
}
