import { checkKey, kindOfKey, maskKey } from "../../config/api-key.ts";
import type { KeyKind } from "../../config/api-key.ts";
import { baseUrlOf } from "../../config/base-url.ts";
import { changeProfiles, hasKey, profilePath, readProfiles } from "../../config/profiles.ts";
import type { Profile, ProfileChange, ProfileStore, StoredKey } from "../../config/profiles.ts";
import { sandboxProfile } from "../../config/sandbox-profile.ts";
import { parseKnowledgeBase } from "../../config/settings.ts";
import { deleteKey, storeKey } from "../../config/stored-keys.ts";
import type { KeyOwner } from "../../config/stored-keys.ts";
import { CliError, usage, notFound } from "../../errors.ts";
import { own } from "../../lib/json.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import type { Input } from "../../operations/operation.ts";
import type { Context } from "../command-spec.ts";
import type { profileAddParams } from "./specs.ts";

type AddInput = Input<typeof profileAddParams>;

/** A profile in output: of keys only where they are stored. */
interface ProfileRow {
  readonly name: string;
  readonly default: boolean;
  readonly base_url: string | null;
  readonly key: string | null;
  readonly apps: Readonly<Record<string, string>>;
  readonly default_app: string | null;
  readonly user: string | null;
  readonly output: string | null;
  readonly read_only: boolean;
  /** IDs by name, if the key opens only these. */
  readonly knowledge_bases: Readonly<Record<string, string>>;
}

const profileRow = (name: string, profile: Profile, store: ProfileStore): ProfileRow => ({
  name,
  default: store.default === name,
  base_url: profile.base_url ?? null,
  key: describeKey(profile),
  apps: Object.fromEntries(
    Object.entries(profile.apps ?? {}).map(([app, entry]) => [app, describeKey(entry) ?? ""]),
  ),
  default_app: profile.default_app ?? null,
  user: profile.user ?? null,
  output: profile.output ?? null,
  read_only: profile.read_only ?? false,
  knowledge_bases: profile.knowledge_bases ?? {},
});

function describeKey({ key, key_command, key_in }: StoredKey): string | null {
  if (key_in !== undefined) return "in the keyring";
  if (key !== undefined) return `${maskKey(key)} in the profile file`;
  return key_command === undefined ? null : "from a command";
}

/** `profile add`: creates a profile, or changes the given fields of an existing one. */
export const addProfile = {
  async *run(input: AddInput, context: Context): AsyncGenerator<ProfileRow> {
    const { host } = context;
    const { name } = input;
    checkName(name);
    const bases = input.kb && Object.fromEntries(input.kb.map(parseKnowledgeBase));
    const known = own((await readProfiles(host)).profiles, name) ?? {};
    const baseUrl = await resolveBaseUrl(known, context);
    const key = await readKey(input, context);
    const addition = { input, baseUrl, key, bases };
    // Read again under the lock: other processes may have changed the file since.
    yield await changeProfiles(host, (store) => withProfile(store, addition, context));
  },
};

function checkName(name: string): void {
  if (name === sandboxProfile) {
    const message = `"${sandboxProfile}" is reserved for the built-in profile of the local sandbox`;
    throw usage(message, "choose another name");
  }
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@-]*$/u.test(name)) return;
  throw usage(
    `invalid profile name ${JSON.stringify(name)}`,
    "use letters, digits, spaces and . _ @ -; begin with a letter or digit",
  );
}

/** What `profile add` has collected before it changes anything. */
interface Addition {
  readonly input: AddInput;
  readonly baseUrl: string;
  readonly key: NewKey | undefined;
  readonly bases: Readonly<Record<string, string>> | undefined;
}

/** The store with the added profile, whose key is stored by then. */
async function withProfile(
  store: ProfileStore,
  { input, baseUrl, key, bases }: Addition,
  context: Context,
): Promise<ProfileChange<ProfileRow>> {
  const { flags } = context.options;
  const { name } = input;
  const existing = own(store.profiles, name) ?? {};
  checkServer(name, existing, baseUrl, context);
  const app = flags.app ?? (key?.kind === "app" ? "default" : undefined);
  const owner: KeyOwner = { profile: name, baseUrl, app };
  const entry = key && (await storeNewKey(key, owner, input, context));
  const profile: Profile = {
    ...(entry && app === undefined ? { ...withoutKey(existing), ...entry } : existing),
    base_url: baseUrl,
    ...(entry &&
      app !== undefined && {
        apps: { ...existing.apps, [app]: entry },
        default_app: existing.default_app ?? app,
      }),
    ...(flags.user !== undefined && { user: flags.user }),
    ...(input.format !== undefined && { output: input.format }),
    ...(input.mark_read_only && { read_only: true }),
    ...(bases && { knowledge_bases: { ...existing.knowledge_bases, ...bases } }),
  };
  const replaced = app === undefined ? existing : own(existing.apps, app);
  const next: ProfileStore = {
    default: store.default ?? name,
    profiles: { ...store.profiles, [name]: profile },
  };
  return {
    store: next,
    result: profileRow(name, profile, next),
    async after() {
      const leftKeyring = entry && entry.key_in === undefined && replaced?.key_in !== undefined;
      if (leftKeyring) await deleteFromKeyring(owner, context);
    },
  };
}

/** The keys of a profile belong to its server, so its base URL cannot change. Throws usage. */
function checkServer(name: string, existing: Profile, baseUrl: string, { options }: Context): void {
  const hasKeys = [existing, ...Object.values(existing.apps ?? {})].some(hasKey);
  if (existing.base_url === undefined || existing.base_url === baseUrl || !hasKeys) return;
  throw usage(
    `the keys of profile ${name} belong to ${existing.base_url}`,
    `remove it first: ${options.program} profile remove ${shellQuote(name)} --yes`,
  );
}

/** Stores a key in the keyring if possible, otherwise in the profile file. */
async function storeNewKey(
  { field, value }: NewKey,
  owner: KeyOwner,
  input: AddInput,
  { host, notice }: Context,
): Promise<StoredKey> {
  if (field === "key_command") return { key_command: value };
  const problem = input.insecure_storage ? undefined : await storeKey(owner, value, host);
  if (!input.insecure_storage && problem === undefined) {
    await notice("the key is stored in the keyring");
    return { key_in: "keyring" };
  }
  const why = problem === undefined ? "" : `the keyring is not available (${problem}): `;
  await notice(`${why}the key is stored in ${profilePath(host)}, readable only by you`);
  return { key: value };
}

/** Deletes a key from the keyring, or explains how to do that. */
async function deleteFromKeyring(owner: KeyOwner, { host, notice }: Context): Promise<void> {
  const problem = await deleteKey(owner, host);
  if (problem === undefined) return;
  const entry = `${owner.profile}${owner.app === undefined ? "" : `, application ${owner.app}`}`;
  await notice(
    `the keyring is not available (${problem}): delete the old key there yourself, kb-wf: ${entry}`,
  );
}

/** The profile without its knowledge key, which is replaced. */
const withoutKey = (profile: Profile): Profile =>
  Object.fromEntries(
    Object.entries(profile).filter(([field]) => !/^key(_command|_in)?$/.test(field)),
  );

async function resolveBaseUrl(existing: Profile, context: Context): Promise<string> {
  const { options, host, signal } = context;
  const insecure = options.flags.insecureHttp ?? false;
  const text = options.flags.baseUrl ?? existing.base_url ?? (host.env["KB_BASE_URL"] || undefined);
  if (text !== undefined) {
    const url = baseUrlOf(text, insecure);
    if (url !== text.replace(/(?<!\/)\/+$/, "")) await context.notice(`base URL ${url}`);
    return url;
  }
  if (!options.input) {
    throw usage("--base-url is required", "pass --base-url https://example.com/v1");
  }
  const typed = await host.prompt("Base URL (https://example.com/v1): ", { signal });
  return baseUrlOf(typed.trim(), insecure);
}

/** A key to store: itself or the command that prints it. */
interface NewKey {
  readonly field: "key" | "key_command";
  readonly value: string;
  readonly kind: KeyKind | undefined;
}

/** Reads the key from a file, stdin, or a hidden prompt; never from the command line. */
async function readKey(input: AddInput, context: Context): Promise<NewKey | undefined> {
  const { host, options, signal } = context;
  const { key_file: keyFile, key_command: keyCommand } = input;
  if (keyFile !== undefined && keyCommand !== undefined) {
    throw usage("--key-file and --key-command cannot be used together");
  }
  if (keyCommand !== undefined) return { field: "key_command", value: keyCommand, kind: undefined };
  if (keyFile === undefined && !options.input) return undefined;
  const question = "Key (hidden, empty for none): ";
  const value = (keyFile ?? (await host.prompt(question, { hidden: true, signal }))).trim();
  host.secrets.learn(value);
  if (value === "") {
    if (keyFile === undefined) return undefined;
    throw usage("--key-file is empty");
  }
  checkKey(value, keyFile === undefined ? "the key" : "--key-file");
  const kind = kindOfKey(value);
  if (options.flags.app !== undefined && kind === "dataset") {
    const message = "--app stores an application key, but this is a knowledge key (dataset-…)";
    throw usage(message, "omit --app");
  }
  return { field: "key", value, kind };
}

/** `profile list` */
export const listProfiles = {
  async *run(_: unknown, { host }: Context): AsyncGenerator<ProfileRow> {
    const store = await readProfiles(host);
    for (const [name, profile] of Object.entries(store.profiles))
      yield profileRow(name, profile, store);
  },
};

/** `profile show` */
export const showProfile = {
  async *run(
    input: { readonly name?: string | undefined },
    { host }: Context,
  ): AsyncGenerator<ProfileRow> {
    const store = await readProfiles(host);
    const name = input.name ?? store.default;
    if (name === undefined)
      throw new CliError("not-found", "no profiles stored", { hint: addHint });
    yield profileRow(name, findProfile(store, name), store);
  },
};

/** `profile use` */
export const useProfile = {
  async run({ name }: { readonly name: string }, context: Context): Promise<void> {
    await changeProfiles(context.host, async (store) => {
      findProfile(store, name);
      return { store: { ...store, default: name }, result: undefined };
    });
    await context.notice(`${name} is now the default profile`);
  },
};

/** `profile remove` */
export const removeProfile = {
  async run({ name }: { readonly name: string }, context: Context): Promise<void> {
    findProfile(await readProfiles(context.host), name);
    await context.confirm(`Remove profile ${JSON.stringify(name)} and its keys?`);
    await changeProfiles(context.host, (store) => withoutProfile(store, name, context));
    await context.notice(`removed profile ${name}`);
  },
};

async function withoutProfile(
  store: ProfileStore,
  name: string,
  context: Context,
): Promise<ProfileChange<undefined>> {
  const profile = findProfile(store, name);
  const { default: defaultName, ...rest } = store;
  const profiles = Object.fromEntries(
    Object.entries(store.profiles).filter(([key]) => key !== name),
  );
  const entries = [[undefined, profile] as const, ...Object.entries(profile.apps ?? {})];
  return {
    store: {
      ...rest,
      ...(defaultName !== undefined && defaultName !== name && { default: defaultName }),
      profiles,
    },
    result: undefined,
    async after() {
      for (const [app, { key_in: place }] of entries) {
        const owner = { profile: name, baseUrl: profile.base_url, app };
        if (place !== undefined) await deleteFromKeyring(owner, context);
      }
    },
  };
}

const addHint = "add one: kb profile add work --base-url https://example.com/v1 --key-file -";

function findProfile(store: ProfileStore, name: string): Profile {
  const profile = own(store.profiles, name);
  if (profile) return profile;
  const names = Object.keys(store.profiles);
  throw notFound(
    `profile ${JSON.stringify(name)} not found`,
    names.length > 0 ? `stored profiles: ${names.join(", ")}` : addHint,
  );
}
