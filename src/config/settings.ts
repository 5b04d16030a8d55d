import { usage } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { own } from "../lib/json.ts";
import { shellQuote } from "../lib/shell-quote.ts";
import { kindOfKey } from "./api-key.ts";
import type { KeyKind } from "./api-key.ts";
import { baseUrlOf } from "./base-url.ts";
import { readProfiles } from "./profiles.ts";
import type { Profile } from "./profiles.ts";
import { readSandboxProfile, sandboxProfile } from "./sandbox-profile.ts";
import { unset } from "./setting.ts";
import type { Setting } from "./setting.ts";
import { keySetting } from "./stored-keys.ts";
import type { KeyOwner } from "./stored-keys.ts";

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

/** All settings of a command: where its requests go, with which key, for which user. */
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
  /** IDs by name of the knowledge bases that the key opens, if it does not open all of them. */
  readonly bases: Readonly<Record<string, string>>;
  /** The selected profile: its keys are only sent to its own base URL. */
  readonly stored:
    | { readonly name: string; readonly source: string; readonly baseUrl: string | undefined }
    | undefined;
}

/** Which keys a command needs; with `run: false` none is read from a command or the keyring. */
interface KeyNeeds {
  readonly key: KeyKind | "both" | undefined;
  readonly run?: boolean;
}

/** The default end user: the same on every machine, so that a run can be followed from another one. */
const DEFAULT_USER = "kb-wf";

/** The selected profile, and what its settings name as their source. */
interface SelectedProfile {
  readonly name: string | undefined;
  readonly profile: Profile | undefined;
  readonly source: string;
}

const noProfile: SelectedProfile = { name: undefined, profile: undefined, source: "" };

/** Everything that settings are read from. */
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
  const selected = isComplete(flags, host, needs) ? noProfile : await selectProfile(flags, host);
  const sources: Sources = { ...selected, flags, host, needs };
  const { name, profile, source } = sources;
  const baseUrl = resolveBaseUrl(sources);
  const app = resolve(sources, {
    flag: { value: flags.app, source: "--app" },
    variable: "KB_APP",
    stored: defaultApp(sources),
  });
  if (needsKey(sources, "app")) checkApp(app, sources);
  return {
    profile: { value: name, source: flags.profile === undefined ? source || "not set" : "-p" },
    baseUrl,
    knowledgeKey: await resolveKnowledgeKey(sources),
    appKey: await resolveAppKey(sources, app.value),
    app,
    user: resolve(sources, {
      flag: { value: flags.user, source: "--user" },
      variable: "KB_USER",
      stored: profileSetting(sources, "user"),
      builtIn: { value: DEFAULT_USER, source: "built-in" },
    }),
    output: resolve(sources, {
      flag: { value: flags.output, source: "-o" },
      variable: "KB_OUTPUT",
      stored: profileSetting(sources, "output"),
    }),
    readOnly: resolveReadOnly(sources),
    apps: Object.keys(profile?.apps ?? {}),
    bases: parseKnowledgeBases(variable(host, "KB_DATASET_IDS")) ?? profile?.knowledge_bases ?? {},
    stored: profile && name !== undefined ? { name, source, baseUrl: profile.base_url } : undefined,
  };
}

/** An environment variable; an empty one counts as unset. */
const variable = (host: Host, name: string): string | undefined => host.env[name] || undefined;

/** Do flags and environment set everything, so that no profile is needed? */
function isComplete(
  { profile, app, baseUrl }: TargetFlags,
  host: Host,
  { key }: KeyNeeds,
): boolean {
  if (profile !== undefined || app !== undefined) return false;
  if (variable(host, "KB_PROFILE") ?? variable(host, "KB_APP")) return false;
  if ((baseUrl ?? variable(host, "KB_BASE_URL")) === undefined) return false;
  if (key === "both") return false;
  if (key === undefined) return true;
  return variable(host, key === "dataset" ? "KB_KEY" : "KB_APP_KEY") !== undefined;
}

async function selectProfile(flags: TargetFlags, host: Host): Promise<SelectedProfile> {
  const fromEnv = variable(host, "KB_PROFILE");
  const selected = flags.profile ?? fromEnv;
  if (selected === sandboxProfile) {
    const profile = await readSandboxProfile(host);
    return { name: selected, profile, source: "profile sandbox (built-in)" };
  }
  const { profiles, default: defaultName } = await readProfiles(host);
  const name = selected ?? defaultName;
  if (name === undefined) return noProfile;
  const profile = own(profiles, name);
  if (profile) return { name, profile, source: `profile ${name}` };
  let source = "the default";
  if (flags.profile !== undefined) source = "-p";
  else if (fromEnv !== undefined) source = "KB_PROFILE";
  const names = Object.keys(profiles);
  throw usage(
    `profile "${name}" not found (${source})`,
    names.length > 0
      ? `stored profiles: ${names.join(", ")}`
      : "add one: kb profile add work --base-url https://example.com/v1",
  );
}

/** Where a setting may come from. */
interface Candidates {
  readonly flag?: Setting;
  /** Environment variable of this CLI. */
  readonly variable: string;
  /** From the profile. */
  readonly stored: Setting;
  /** Environment variables of other tools. */
  readonly fallbacks?: readonly string[];
  readonly builtIn?: Setting;
}

/** The setting of highest precedence. A stored key that was not read counts, though without a value. */
function resolve({ flags, host }: Sources, candidates: Candidates): Setting {
  const { flag = unset, stored, fallbacks = [], builtIn = unset } = candidates;
  const fromEnv = (name: string): Setting => ({ value: variable(host, name), source: name });
  const order = [
    flag,
    flags.profile === undefined ? unset : stored,
    fromEnv(candidates.variable),
    stored,
    ...fallbacks.map(fromEnv),
  ];
  const isSet = (each: Setting) => each.value !== undefined || (each === stored && each !== unset);
  return order.find(isSet) ?? builtIn;
}

function profileSetting(
  { profile, source }: Sources,
  field: "base_url" | "user" | "output",
): Setting {
  const value = profile?.[field];
  return value === undefined ? unset : { value, source };
}

function resolveBaseUrl(sources: Sources): Setting {
  const { flags } = sources;
  const { value, source } = resolve(sources, {
    flag: { value: flags.baseUrl, source: "--base-url" },
    variable: "KB_BASE_URL",
    stored: profileSetting(sources, "base_url"),
    fallbacks: ["DIFY_BASE_URL", "DIFY_API_URL"],
  });
  if (value === undefined) return unset;
  return { value: baseUrlOf(value, flags.insecureHttp ?? false), source };
}

/** The default application of the profile, or its only one. */
function defaultApp({ profile, source }: Sources): Setting {
  const names = Object.keys(profile?.apps ?? {});
  const value = profile?.default_app ?? (names.length === 1 ? names[0] : undefined);
  return value === undefined ? unset : { value, source };
}

function checkApp(app: Setting, { profile, name }: Sources): void {
  if (app.value === undefined || own(profile?.apps, app.value) !== undefined) return;
  const names = Object.keys(profile?.apps ?? {});
  const where = name === undefined ? ": no profile is selected" : ` in profile ${name}`;
  throw usage(
    `application "${app.value}" not found${where}`,
    names.length > 0
      ? `applications of the profile: ${names.join(", ")}`
      : `add it: wf profile add ${shellQuote(name ?? "work")} --app ${shellQuote(app.value)} --key-file -`,
  );
}

const needsKey = ({ needs }: Sources, kind: KeyKind): boolean =>
  needs.key === kind || needs.key === "both";

const keyOwner = ({ name, profile }: Sources, app: string | undefined): KeyOwner => ({
  profile: name ?? "",
  baseUrl: profile?.base_url,
  app,
});

/** DIFY_API_KEY holds either kind of key; its prefix shows which. */
function difyVariables({ host }: Sources, kind: KeyKind): readonly string[] {
  const isApp = kindOfKey(variable(host, "DIFY_API_KEY")) === "app";
  return isApp === (kind === "app") ? ["DIFY_API_KEY"] : [];
}

async function resolveKnowledgeKey(sources: Sources): Promise<Setting> {
  const { flags, host, needs, profile, source } = sources;
  const isOverridden = variable(host, "KB_KEY") !== undefined && flags.profile === undefined;
  const stored = await keySetting(profile, keyOwner(sources, undefined), host, {
    source,
    read: needs.run !== false && needsKey(sources, "dataset") && !isOverridden,
  });
  return resolve(sources, {
    variable: "KB_KEY",
    stored,
    fallbacks: difyVariables(sources, "dataset"),
  });
}

async function resolveAppKey(sources: Sources, app: string | undefined): Promise<Setting> {
  const { flags, host, needs, profile, source } = sources;
  // `--app` and `-p` select a stored application: the key in the environment is that of another one.
  const isSelected = flags.app !== undefined || flags.profile !== undefined;
  const isOverridden = variable(host, "KB_APP_KEY") !== undefined && !isSelected;
  const entry = app === undefined ? undefined : own(profile?.apps, app);
  const stored = await keySetting(entry, keyOwner(sources, app), host, {
    source: `${source}, application ${app}`,
    read: needs.run !== false && needsKey(sources, "app") && !isOverridden,
  });
  if (isSelected && stored !== unset) return stored;
  return resolve(sources, {
    variable: "KB_APP_KEY",
    stored,
    fallbacks: difyVariables(sources, "app"),
  });
}

function resolveReadOnly({ flags, profile, source }: Sources): Setting<boolean> {
  if (flags.readOnly) return { value: true, source: "--read-only" };
  if (profile?.read_only) return { value: true, source };
  return { value: false, source: "built-in" };
}

/** `Handbook=ID, ID` → IDs by name; an ID without a name is its own name. Throws usage. */
function parseKnowledgeBases(
  text: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const parts = text?.split(",").map((part) => part.trim());
  return parts && Object.fromEntries(parts.filter((part) => part !== "").map(parseKnowledgeBase));
}

/** `Handbook=ID` → name and ID. Throws usage. */
export function parseKnowledgeBase(text: string): readonly [name: string, id: string] {
  const equals = text.lastIndexOf("=");
  const id = text.slice(equals + 1).trim();
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) {
    throw usage(
      `${JSON.stringify(text)} does not end in a knowledge base ID`,
      "pass name=ID or only an ID; IDs are UUIDs",
    );
  }
  return [equals > 0 ? text.slice(0, equals).trim() : id, id.toLowerCase()];
}
