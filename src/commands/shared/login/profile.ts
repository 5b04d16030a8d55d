import {
  changeProfiles,
  readProfiles,
  readSandboxProfile,
  sandboxProfile,
  profilePath,
} from "../../../config/profiles.ts";
import type {
  Profile,
  ProfileStore,
  ProfileChange,
  StoredKey,
  Setting,
} from "../../../config/profiles.ts";
import {
  missingProfileHint,
  selectedProfile,
  consoleSetting,
  settingsFor,
} from "../../../config/settings.ts";
import { notFound, usage } from "../../../errors.ts";
import { commandLine, shellQuote } from "../../../lib/command-line.ts";
import { own } from "../../../lib/json.ts";
import type { Context } from "../../task/command-spec.ts";
import { deleteKey, keysOf, ownerText, storeKey } from "../../../config/stored-keys.ts";
import type { KeyOwner } from "../../../config/stored-keys.ts";
import { maskKey } from "../../../redact/keys.ts";

/** `profile list`: the stored profiles, and the built-in one if it is the default. */
export const listProfiles = {
  async *run(_: unknown, { host }: Context): AsyncGenerator<ProfileRow> {
    const store = await readProfiles(host);
    const profiles = Object.entries(store.profiles);
    // All are read before the first row: the widths of a table are those of rows that come together.
    if (store.default === sandboxProfile)
      profiles.push([sandboxProfile, await readSandboxProfile(host)]);
    for (const [name, profile] of profiles) yield profileRow(name, profile, store);
  },
};

/** `profile show` */
export const showProfile = {
  async *run(
    input: { readonly name?: string | undefined },
    context: Context,
  ): AsyncGenerator<ProfileRow> {
    const store = await readProfiles(context.host);
    const name =
      input.name ?? selectedProfile(context.options.flags, context.host) ?? store.default;
    if (name === undefined) {
      const login = commandLine(`${context.options.program} login`);
      throw notFound("no profiles are stored", `sign in with ${login}`);
    }
    const isBuiltIn = name === sandboxProfile;
    const profile = isBuiltIn
      ? await readSandboxProfile(context.host)
      : findProfile(store, name, context);
    yield profileRow(name, profile, store);
  },
};

/** `profile use` */
export const useProfile = {
  async run({ name }: { readonly name: string }, context: Context): Promise<void> {
    const { app } = context.options.flags;
    await changeProfiles(context, async (store) => {
      const profile = name === sandboxProfile ? undefined : findProfile(store, name, context);
      if (app !== undefined) await requireApp(app, name, profile, context);
      const profiles =
        profile && app !== undefined
          ? { ...store.profiles, [name]: { ...profile, default_app: app } }
          : store.profiles;
      return { store: { ...store, profiles, default: name }, result: undefined };
    });
    const also = app === undefined ? "" : `, and ${app} its application without --app`;
    await context.notice(`${name} is now the default profile${also}`);
  },
};

/** Throws not-found for an application that the profile lacks, and usage for another one of the built-in profile. */
async function requireApp(
  app: string,
  name: string,
  stored: Profile | undefined,
  { host }: Context,
): Promise<void> {
  const { apps, default_app } = stored ?? (await readSandboxProfile(host)) ?? {};
  const adds = stored ? `; ${commandLine("wf login", [name])} adds one` : "";
  if (!own(apps, app))
    throw notFound(
      `profile ${name} has no application ${JSON.stringify(app)}`,
      `it has ${Object.keys(apps ?? {}).join(", ") || "none"}${adds}`,
    );
  if (!stored && app !== default_app)
    throw usage(
      `the application of the built-in profile ${name} cannot be changed`,
      `select it on each line: --app ${shellQuote(app)}`,
    );
}

/** `profile remove` */
export const removeProfile = {
  async run({ name }: { readonly name: string }, context: Context): Promise<void> {
    if (name === sandboxProfile) throw usage(`profile ${name} is built in and cannot be removed`);
    findProfile(await readProfiles(context.host), name, context);
    await context.confirm(`Remove profile ${JSON.stringify(name)} and its keys?`);
    await changeProfiles(context, async (store) => {
      findProfile(store, name, context);
      return withoutProfile(store, name, context);
    });
    await context.notice(`removed profile ${name}`);
  },
};

function findProfile(store: ProfileStore, name: string, { options }: Context): Profile {
  const profile = own(store.profiles, name);
  if (profile) return profile;
  throw notFound(
    `profile ${JSON.stringify(name)} not found`,
    missingProfileHint(name, store, options.program),
  );
}

/** A key to store: itself, or the command that prints it. */
export interface NewKey {
  /** Undefined for the access token that the profile has, which opens one more application. */
  readonly field: "key" | "key_command" | undefined;
  readonly value: string;
  readonly isToken: boolean;
  /** Application of the profile; undefined for what opens knowledge bases. */
  readonly app: string | undefined;
  /** ID of the application, for an access token that opens several. */
  readonly appId: string | undefined;
  /** Stores it in the profile file, even if there is a keyring. */
  readonly inFile: boolean;
}

/** What a sign-in adds to a profile. */
export interface Addition {
  readonly name: string;
  readonly baseUrl: string;
  /** Undefined keeps the stored keys. */
  readonly key: NewKey | undefined;
  readonly fields: Pick<Profile, "user" | "output" | "read_only" | "console_url" | "remember_runs">;
  readonly bases: Readonly<Record<string, string>>;
}

/** The store with the added profile, whose key is stored by then. */
export async function withProfile(
  store: ProfileStore,
  { name, baseUrl, key, fields, bases }: Addition,
  context: Context,
): Promise<ProfileChange<ProfileRow>> {
  const existing = own(store.profiles, name) ?? {};
  requireSameServer(name, existing, baseUrl, context);
  const { app, appId, isToken = false } = key ?? {};
  const owner: KeyOwner = { profile: name, baseUrl, app: isToken ? undefined : app, isToken };
  const entry = key?.field && (await storeNewKey({ ...key, field: key.field }, owner, context));
  const byId = appId === undefined ? {} : { app_id: appId };
  const ofApp = isToken ? byId : entry;
  const profile: Profile = {
    // A knowledge key would be used in place of the token.
    ...(entry && app === undefined ? withoutKey(existing) : existing),
    ...(isToken ? entry && { access_token: entry } : app === undefined && entry),
    base_url: baseUrl,
    ...(ofApp &&
      app !== undefined && {
        apps: { ...existing.apps, [app]: ofApp },
        default_app: existing.default_app ?? app,
      }),
    ...fields,
    ...(Object.keys(bases).length > 0 && {
      knowledge_bases: { ...existing.knowledge_bases, ...bases },
    }),
  };
  const next: ProfileStore = {
    default: store.default ?? name,
    profiles: { ...store.profiles, [name]: profile },
  };
  return {
    store: next,
    result: profileRow(name, profile, next),
    after: () => forgetKeys(name, existing, profile, context),
  };
}

/** Deletes the keys from the keyring that a changed profile no longer has there. */
async function forgetKeys(
  name: string,
  before: Profile,
  after: Profile,
  context: Context,
): Promise<void> {
  const inKeyring = (profile: Profile) =>
    keysOf(name, profile).flatMap(([owner, { key_in: place }]) =>
      place === undefined ? [] : owner,
    );
  const kept = inKeyring(after).map(ownerText);
  for (const owner of inKeyring(before)) {
    if (!kept.includes(ownerText(owner))) await deleteFromKeyring(owner, context);
  }
}

/** The keys of a profile belong to its server, so its base URL cannot change. Throws usage. */
export function requireSameServer(
  name: string,
  existing: Profile,
  baseUrl: string,
  { options: { program } }: Context,
): void {
  const hasKeys = keysOf(name, existing).length > 0;
  if (existing.base_url === undefined || existing.base_url === baseUrl || !hasKeys) return;
  throw usage(
    `the keys of profile ${name} belong to ${existing.base_url}`,
    `choose another name, or remove it first: ${commandLine(`${program} profile remove`, [name])}`,
  );
}

/** The profile without its knowledge key, which is replaced. */
const withoutKey = (profile: Profile): Profile =>
  Object.fromEntries(
    Object.entries(profile).filter(([field]) => !/^key(_command|_in)?$/.test(field)),
  );

async function storeNewKey(
  { field, value, inFile }: NewKey & Required<Pick<NewKey, "field">>,
  owner: KeyOwner,
  { host, notice }: Context,
): Promise<StoredKey> {
  if (field === "key_command") return { key_command: value };
  const problem = inFile ? undefined : await storeKey(owner, value, host);
  if (!inFile && problem === undefined) {
    await notice("the key is stored in the keyring");
    return { key_in: "keyring" };
  }
  const why = problem === undefined ? "" : `the keyring is not available (${problem}): `;
  await notice(`${why}the key is stored in ${profilePath(host)}, readable only by you`);
  return { key: value };
}

/** The store without a profile, whose keys leave the keyring after the write. */
export function withoutProfile(
  store: ProfileStore,
  name: string,
  context: Context,
): ProfileChange<undefined> {
  const profile = own(store.profiles, name) ?? {};
  const { default: defaultName, ...rest } = store;
  return {
    store: {
      ...rest,
      ...(defaultName !== undefined && defaultName !== name && { default: defaultName }),
      profiles: Object.fromEntries(
        Object.entries(store.profiles).filter(([other]) => other !== name),
      ),
    },
    result: undefined,
    after: () => forgetKeys(name, profile, {}, context),
  };
}

/** Deletes a key from the keyring, or explains how to do that. */
async function deleteFromKeyring(owner: KeyOwner, { host, notice }: Context): Promise<void> {
  const problem = await deleteKey(owner, host);
  if (problem === undefined) return;
  await notice(
    `the keyring is not available (${problem}): delete the old key there yourself, kb-wf: ${ownerText(owner)}`,
  );
}

/** A profile as it is printed. */
export type ProfileRow = ReturnType<typeof profileRow>;

/** What is printed of a profile: of keys only where they are stored. */
function profileRow(name: string, profile: Profile, store: ProfileStore) {
  const place = name === sandboxProfile ? "(built-in)" : "in the profile file";
  const token = describeKey(profile.access_token ?? {}, place);
  return {
    name,
    default: store.default === name,
    base_url: profile.base_url ?? null,
    key: describeKey(profile, place) ?? (token && `access token ${token}`),
    apps: Object.fromEntries(
      Object.entries(profile.apps ?? {}).map(([app, { app_id, ...key }]) => [
        app,
        describeKey(key, place) ?? `access token${app_id === undefined ? "" : `, ID ${app_id}`}`,
      ]),
    ),
    default_app: profile.default_app ?? null,
    user: profile.user ?? null,
    output: profile.output ?? null,
    read_only: profile.read_only ?? false,
    remember_runs: profile.remember_runs ?? null,
    // Null if it is that of the API without its path.
    console_url: profile.console_url ?? null,
    // IDs by name, if the key opens only these.
    knowledge_bases: profile.knowledge_bases ?? {},
  };
}

function describeKey({ key, key_command, key_in }: StoredKey, place: string): string | null {
  if (key_in !== undefined) return "in the keyring";
  if (key !== undefined) return `${maskKey(key)} ${place}`;
  return key_command === undefined ? null : "from a command";
}

/** `config explain`: every setting, its value (keys masked) and its source. */
export const explainConfig = {
  async *run(_: unknown, { host, options }: Context): AsyncGenerator<object> {
    const settings = await settingsFor(options.flags, host, {
      // As for other commands, the profile is not read if the environment sets everything.
      key: options.program === "kb" ? "dataset" : "app",
      run: false,
    });
    const row = (setting: string, { value, source }: Setting<string | boolean>) => ({
      setting,
      value: value === undefined ? null : String(value),
      source,
    });
    // The row of the application names it, so the source of its key need not.
    const masked = ({ value, source }: Setting): Setting => ({
      value: value === undefined ? undefined : maskKey(value),
      source: source.replace(`, application ${settings.app.value}`, ""),
    });
    yield row("profile", settings.profile);
    yield row("base URL", settings.baseUrl);
    yield row("knowledge key", masked(settings.knowledgeKey));
    yield row("application", settings.app);
    yield row("application key", masked(settings.appKey));
    const { appId, app } = settings;
    if (appId !== undefined) yield row("application ID", { value: appId, source: app.source });
    yield row("end user", settings.user);
    yield row("output", settings.output);
    yield row("remember runs", settings.rememberRuns);
    yield row("read only", settings.readOnly);
    yield row("web console", consoleSetting(settings));
    yield row("profile file", { value: profilePath(host), source: "folder" });
    for (const [name, path] of Object.entries(host.directories)) {
      const variable = `KB_${name.toUpperCase()}_DIR`;
      const source = host.env[variable] ? variable : "built-in";
      // Scripts select rows by these names, so they keep the word of version 0.1.0.
      yield row(`${name} folder`, { value: path, source });
    }
  },
};
