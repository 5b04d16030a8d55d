import {
  changeProfiles,
  readProfiles,
  readSandboxProfile,
  sandboxProfile,
} from "../../../config/profiles.ts";
import type { Profile, ProfileStore } from "../../../config/profiles.ts";
import { missingProfileHint, selectedProfile } from "../../../config/settings.ts";
import { notFound, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { own } from "../../../lib/json.ts";
import type { Context } from "../../task/command-spec.ts";
import { withoutProfile } from "./profile-change.ts";
import { profileRow } from "./profile-row.ts";
import type { ProfileRow } from "./profile-row.ts";

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
    await changeProfiles(context, async (store) => {
      if (name !== sandboxProfile) findProfile(store, name, context);
      return { store: { ...store, default: name }, result: undefined };
    });
    await context.notice(`${name} is now the default profile`);
  },
};

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

/** A stored profile. Throws not-found. */
function findProfile(store: ProfileStore, name: string, { options }: Context): Profile {
  const profile = own(store.profiles, name);
  if (profile) return profile;
  throw notFound(
    `profile ${JSON.stringify(name)} not found`,
    missingProfileHint(name, store, options.program),
  );
}
