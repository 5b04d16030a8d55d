import { baseUrlOf } from "../../config/base-url.ts";
import { forgetKey, storeKey } from "../../config/stored-keys.ts";
import type { Owner } from "../../config/stored-keys.ts";
import { changeProfiles, hasKey, profilePath, readProfiles } from "../../config/profiles.ts";
import type { Changed, Profile, Stored, StoredKey } from "../../config/profiles.ts";
import { baseOf, checkKey, masked, sandboxProfile } from "../../config/settings.ts";
import { CliError } from "../../errors.ts";
import { own } from "../../lib/json.ts";
import type { Context } from "../command-spec.ts";

/** Input of `profile add`. */
export interface AddInput {
  readonly name: string;
  readonly key_file?: string | undefined;
  readonly key_command?: string | undefined;
  readonly app_name?: string | undefined;
  readonly user_name?: string | undefined;
  readonly format?: string | undefined;
  readonly mark_read_only?: boolean | undefined;
  readonly insecure_storage?: boolean | undefined;
  /** `Handbook=ID` each. */
  readonly kb?: readonly string[] | undefined;
}

/** A profile as it may be shown: of keys, where they rest. */
interface ShownProfile {
  readonly name: string;
  readonly default: boolean;
  readonly base_url: string | null;
  readonly key: string | null;
  readonly apps: Readonly<Record<string, string>>;
  readonly default_app: string | null;
  readonly user: string | null;
  readonly output: string | null;
  readonly read_only: boolean;
  /** Ids by name, of a key that opens only these. */
  readonly knowledge_bases: Readonly<Record<string, string>>;
}

const shown = (name: string, profile: Profile, stored: Stored): ShownProfile => ({
  name,
  default: stored.default === name,
  base_url: profile.base_url ?? null,
  key: keyShown(profile),
  apps: Object.fromEntries(
    Object.entries(profile.apps ?? {}).map(([app, entry]) => [app, keyShown(entry) ?? ""]),
  ),
  default_app: profile.default_app ?? null,
  user: profile.user ?? null,
  output: profile.output ?? null,
  read_only: profile.read_only ?? false,
  knowledge_bases: profile.knowledge_bases ?? {},
});

const keyShown = (entry: StoredKey): string | null =>
  entry.key_in !== undefined
    ? "in the keyring"
    : entry.key !== undefined
      ? `${masked(entry.key)} in the profile file`
      : entry.key_command !== undefined
        ? "from a command"
        : null;

/** `profile add`: makes a profile or changes what is given of one that is there. */
export const add = {
  async *run(input: AddInput, context: Context): AsyncGenerator<ShownProfile> {
    const { host } = context;
    const { name } = input;
    if (name === sandboxProfile) {
      throw new CliError(
        "usage",
        `"${sandboxProfile}" is the built-in profile of the local sandbox`,
        {
          hint: "choose another name",
        },
      );
    }
    if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]*$/u.test(name)) {
      throw new CliError("usage", `${JSON.stringify(name)} is no name for a profile`, {
        sideEffect: "none",
        hint: "letters, digits, blanks and . _ @ -, a letter or digit first",
      });
    }
    const bases = input.kb && Object.fromEntries(input.kb.map(baseOf));
    const known = profileNamed(await readProfiles(host), name) ?? {};
    const baseUrl = await addressFor(known, context);
    const key = await keyFor(input, context);
    // Meanwhile others may have changed the file: what is asked for is put into what it holds now.
    yield await changeProfiles(host, (now) => added(now, { input, baseUrl, key, bases }, context));
  },
};

/** What `profile add` found out before it changes anything. */
interface Adding {
  readonly input: AddInput;
  readonly baseUrl: string;
  readonly key: GivenKey | undefined;
  readonly bases: Readonly<Record<string, string>> | undefined;
}

/** The profiles with the one that is added; its key rests where it is to. */
async function added(
  stored: Stored,
  { input, baseUrl, key, bases }: Adding,
  context: Context,
): Promise<Changed<ShownProfile>> {
  const { options: asked } = context;
  const { name } = input;
  const before = profileNamed(stored, name) ?? {};
  // A stored key belongs to the server it was given for.
  const keys = [before, ...Object.values(before.apps ?? {})].some(hasKey);
  if (before.base_url !== undefined && before.base_url !== baseUrl && keys) {
    throw new CliError("usage", `the keys of ${name} belong to ${before.base_url}`, {
      sideEffect: "none",
      hint: `remove it first: ${asked.program} profile remove ${name} --yes`,
    });
  }
  const app = asked.flags.app ?? input.app_name ?? (key?.kind === "app" ? "default" : undefined);
  const owner: Owner = { profile: name, baseUrl, app };
  const rests = key && (await rested(key, owner, input, context));
  const profile: Profile = {
    ...(rests && app === undefined ? { ...withoutKey(before), ...rests } : before),
    base_url: baseUrl,
    ...(rests &&
      app !== undefined && {
        apps: { ...before.apps, [app]: rests },
        default_app: before.default_app ?? app,
      }),
    ...(asked.flags.user !== undefined && { user: asked.flags.user }),
    ...(input.format !== undefined && { output: input.format }),
    ...(input.mark_read_only && { read_only: true }),
    ...(bases && { knowledge_bases: { ...before.knowledge_bases, ...bases } }),
  };
  const replaced = app === undefined ? before : own(before.apps, app);
  const next: Stored = {
    default: stored.default ?? name,
    profiles: { ...stored.profiles, [name]: profile },
  };
  return {
    stored: next,
    result: shown(name, profile, next),
    async after() {
      if (rests && rests.key_in === undefined && replaced?.key_in !== undefined)
        await forgotten(owner, context);
    },
  };
}

/** Where a key rests from now on: in the keyring when one answers, otherwise in the profile file. */
async function rested(
  { field, value }: GivenKey,
  owner: Owner,
  input: AddInput,
  { host, notice }: Context,
): Promise<StoredKey> {
  if (field === "key_command") return { key_command: value };
  const why = input.insecure_storage ? undefined : await storeKey(owner, value, host);
  if (!input.insecure_storage && why === undefined) {
    await notice("the key is stored in the keyring");
    return { key_in: "keyring" };
  }
  await notice(
    `${why === undefined ? "" : `no keyring answers (${why}): `}the key is stored in ${profilePath(host)}, readable by you alone`,
  );
  return { key: value };
}

/** Takes a key out of the keyring, or says that it may still be there. */
async function forgotten(owner: Owner, { host, notice }: Context): Promise<void> {
  const why = await forgetKey(owner, host);
  if (why === undefined) return;
  const its = owner.app === undefined ? "" : `, application ${owner.app}`;
  await notice(
    `no keyring answers (${why}): remove the old key there by hand, kb-wf: ${owner.profile}${its}`,
  );
}

/** The profile without its knowledge key: another one, or another way to it, takes its place. */
const withoutKey = (profile: Profile): Profile =>
  Object.fromEntries(
    Object.entries(profile).filter(([field]) => !/^key(_command|_in)?$/.test(field)),
  );

const profileNamed = (stored: Stored, name: string): Profile | undefined =>
  own(stored.profiles, name);

async function addressFor(before: Profile, context: Context): Promise<string> {
  const { options: asked, host } = context;
  const insecure = asked.flags.insecureHttp ?? false;
  const given = asked.flags.baseUrl ?? before.base_url ?? (host.env["KB_BASE_URL"] || undefined);
  if (given !== undefined) {
    const url = baseUrlOf(given, insecure);
    if (url !== given.replace(/(?<!\/)\/+$/, "")) await context.notice(`base URL ${url}`);
    return url;
  }
  if (asked.input)
    return baseUrlOf(
      (await host.prompt("Base URL (https://example.com/v1): ", { signal: context.signal })).trim(),
      insecure,
    );
  throw new CliError("usage", "--base-url is required", {
    sideEffect: "none",
    hint: "--base-url https://example.com/v1",
  });
}

interface GivenKey {
  readonly field: "key" | "key_command";
  readonly value: string;
  readonly kind: "dataset" | "app" | "unknown";
}

/** The key from a file, standard input, a command, or a hidden prompt; never from the line itself. */
async function keyFor(input: AddInput, context: Context): Promise<GivenKey | undefined> {
  const { host, options: asked } = context;
  if (input.key_file !== undefined && input.key_command !== undefined) {
    throw new CliError("usage", "give either --key-file or --key-command, not both");
  }
  if (input.key_command !== undefined) {
    return { field: "key_command", value: input.key_command, kind: "unknown" };
  }
  let text: string;
  if (input.key_file !== undefined) text = input.key_file;
  else if (asked.input)
    text = await host.prompt("Key (not shown, empty for none): ", {
      hidden: true,
      signal: context.signal,
    });
  else return undefined;
  const value = text.trim();
  host.secrets.learn(value);
  if (value === "") {
    if (input.key_file === undefined) return undefined;
    throw new CliError("usage", "--key-file holds no key", { sideEffect: "none" });
  }
  checkKey(value, input.key_file === undefined ? "what was typed" : "--key-file");
  const kind = value.startsWith("app-")
    ? "app"
    : value.startsWith("dataset-")
      ? "dataset"
      : "unknown";
  if (asked.flags.app !== undefined && kind === "dataset") {
    throw new CliError(
      "usage",
      "this is a knowledge key (dataset-…), and --app stores an application key",
      {
        sideEffect: "none",
        hint: "leave --app away",
      },
    );
  }
  return { field: "key", value, kind };
}

/** `profile list` */
export const list = {
  async *run(_: unknown, { host }: Context): AsyncGenerator<ShownProfile> {
    const stored = await readProfiles(host);
    for (const [name, profile] of Object.entries(stored.profiles))
      yield shown(name, profile, stored);
  },
};

/** `profile show` */
export const show = {
  async *run(
    { name }: { readonly name?: string | undefined },
    { host }: Context,
  ): AsyncGenerator<ShownProfile> {
    const stored = await readProfiles(host);
    const wanted = name ?? stored.default;
    if (wanted === undefined)
      throw new CliError("not-found", "there is no profile yet", { hint: addHint });
    yield shown(wanted, existing(stored, wanted), stored);
  },
};

/** `profile use` */
export const use = {
  async run({ name }: { readonly name: string }, context: Context): Promise<void> {
    await changeProfiles(context.host, async (stored) => {
      existing(stored, name);
      return { stored: { ...stored, default: name }, result: undefined };
    });
    await context.notice(`${name} is the default profile`);
  },
};

/** `profile remove` */
export const remove = {
  async run({ name }: { readonly name: string }, context: Context): Promise<void> {
    existing(await readProfiles(context.host), name);
    await context.confirm(`Remove the profile ${JSON.stringify(name)} and its keys?`);
    await changeProfiles(context.host, async (stored) => {
      const profile = existing(stored, name);
      const profiles = Object.fromEntries(
        Object.entries(stored.profiles).filter(([key]) => key !== name),
      );
      const { default: standard, ...rest } = stored;
      const left = standard !== undefined && standard !== name && { default: standard };
      const keys = [[undefined, profile] as const, ...Object.entries(profile.apps ?? {})];
      return {
        stored: { ...rest, ...left, profiles },
        result: undefined,
        async after() {
          for (const [app, { key_in: place }] of keys) {
            const owner = { profile: name, baseUrl: profile.base_url, app };
            if (place !== undefined) await forgotten(owner, context);
          }
        },
      };
    });
    await context.notice(`profile ${name} removed`);
  },
};

const addHint = "add one: kb profile add <name> --base-url https://example.com/v1 --key-file -";

function existing(stored: Stored, name: string): Profile {
  const found = profileNamed(stored, name);
  if (found) return found;
  const known = Object.keys(stored.profiles);
  throw new CliError("not-found", `there is no profile ${JSON.stringify(name)}`, {
    sideEffect: "none",
    hint: known.length > 0 ? `there are: ${known.join(", ")}` : addHint,
  });
}
