import { sandboxProfile } from "../../../config/profiles.ts";
import type { Profile, ProfileStore, StoredKey } from "../../../config/profiles.ts";
import { maskKey } from "../../../redact/keys.ts";

/** A profile in output: of keys only where they are stored. */
export interface ProfileRow {
  readonly name: string;
  readonly default: boolean;
  readonly base_url: string | null;
  readonly key: string | null;
  readonly apps: Readonly<Record<string, string>>;
  readonly default_app: string | null;
  readonly user: string | null;
  readonly output: string | null;
  readonly read_only: boolean;
  /** Null if it is that of the API without its path. */
  readonly console_url: string | null;
  /** IDs by name, if the key opens only these. */
  readonly knowledge_bases: Readonly<Record<string, string>>;
}

/** A profile as it is printed. */
export function profileRow(name: string, profile: Profile, store: ProfileStore): ProfileRow {
  const place = name === sandboxProfile ? "(built-in)" : "in the profile file";
  return {
    name,
    default: store.default === name,
    base_url: profile.base_url ?? null,
    key: describeKey(profile, place),
    apps: Object.fromEntries(
      Object.entries(profile.apps ?? {}).map(([app, key]) => [app, describeKey(key, place) ?? ""]),
    ),
    default_app: profile.default_app ?? null,
    user: profile.user ?? null,
    output: profile.output ?? null,
    read_only: profile.read_only ?? false,
    console_url: profile.console_url ?? null,
    knowledge_bases: profile.knowledge_bases ?? {},
  };
}

function describeKey({ key, key_command, key_in }: StoredKey, place: string): string | null {
  if (key_in !== undefined) return "in the keyring";
  if (key !== undefined) return `${maskKey(key)} ${place}`;
  return key_command === undefined ? null : "from a command";
}
