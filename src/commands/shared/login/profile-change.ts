import { hasKey, profilePath } from "../../../config/profiles.ts";
import type { Profile, ProfileChange, ProfileStore, StoredKey } from "../../../config/profiles.ts";
import { deleteKey, storeKey } from "../../../config/stored-keys.ts";
import type { KeyOwner } from "../../../config/stored-keys.ts";
import { usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { own } from "../../../lib/json.ts";
import type { Context } from "../../task/command-spec.ts";
import { profileRow } from "./profile-row.ts";
import type { ProfileRow } from "./profile-row.ts";

/** A key to store: itself, or the command that prints it. */
export interface NewKey {
  readonly field: "key" | "key_command";
  readonly value: string;
  /** Application of the profile; undefined for its knowledge key. */
  readonly app: string | undefined;
  /** Stores it in the profile file, even if there is a keyring. */
  readonly inFile: boolean;
}

/** What a sign-in adds to a profile. */
export interface Addition {
  readonly name: string;
  readonly baseUrl: string;
  /** Undefined keeps the stored keys. */
  readonly key: NewKey | undefined;
  readonly fields: Pick<Profile, "user" | "output" | "read_only" | "console_url">;
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
  const app = key?.app;
  const owner: KeyOwner = { profile: name, baseUrl, app };
  const entry = key && (await storeNewKey(key, owner, context));
  const profile: Profile = {
    ...(entry && app === undefined ? { ...withoutKey(existing), ...entry } : existing),
    base_url: baseUrl,
    ...(entry &&
      app !== undefined && {
        apps: { ...existing.apps, [app]: entry },
        default_app: existing.default_app ?? app,
      }),
    ...fields,
    ...(Object.keys(bases).length > 0 && {
      knowledge_bases: { ...existing.knowledge_bases, ...bases },
    }),
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
export function requireSameServer(
  name: string,
  existing: Profile,
  baseUrl: string,
  { options: { program } }: Context,
): void {
  const hasKeys = [existing, ...Object.values(existing.apps ?? {})].some(hasKey);
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

/** Stores a key in the keyring if possible, otherwise in the profile file. */
async function storeNewKey(
  { field, value, inFile }: NewKey,
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
  const entries = [[undefined, profile] as const, ...Object.entries(profile.apps ?? {})];
  return {
    store: {
      ...rest,
      ...(defaultName !== undefined && defaultName !== name && { default: defaultName }),
      profiles: Object.fromEntries(
        Object.entries(store.profiles).filter(([other]) => other !== name),
      ),
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

/** Deletes a key from the keyring, or explains how to do that. */
async function deleteFromKeyring(owner: KeyOwner, { host, notice }: Context): Promise<void> {
  const problem = await deleteKey(owner, host);
  if (problem === undefined) return;
  const entry = `${owner.profile}${owner.app === undefined ? "" : `, application ${owner.app}`}`;
  await notice(
    `the keyring is not available (${problem}): delete the old key there yourself, kb-wf: ${entry}`,
  );
}
