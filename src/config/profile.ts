import { CliError } from "../errors.ts";
import type { Host } from "../host.ts";
import { isObject } from "../json.ts";

/** What is stored under a name. Field names are those of the file. */
export interface Profile {
  readonly base_url?: string;
  /** Knowledge key. */
  readonly key?: string;
  /** Command that prints the knowledge key. */
  readonly key_command?: string;
  /** Application keys by the name they were given. */
  readonly apps?: Readonly<
    Record<string, { readonly key?: string; readonly key_command?: string }>
  >;
  readonly default_app?: string;
  readonly user?: string;
  readonly output?: string;
  readonly read_only?: boolean;
}

/** The profile file. */
export interface Stored {
  readonly default?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const fileName = "profiles";

/** Path of the profile file. */
export const profilePath = (host: Host): string => `${host.folders.config}/${fileName}.json`;

/**
 * Reads the profile file; no file gives no profiles. Throws usage naming file and line when it is
 * damaged, and never quotes it: it holds keys. The file is left untouched.
 */
export async function readProfiles(host: Host): Promise<Stored> {
  const path = profilePath(host);
  const found = await host.files.stat(path);
  if (!found) return { profiles: {} };
  const store = await openStore(host);
  return checkedStore(store.store, path);
}

/** Replaces the profile file, whole or not at all, readable by the owner alone. */
export async function writeProfiles(host: Host, stored: Stored): Promise<void> {
  await host.files.makeFolder(host.folders.config, 0o700);
  const store = await openStore(host);
  store.store = { ...stored };
}

/** conf is constructed only here: its constructor makes the folder, even when only reading. */
async function openStore(host: Host) {
  const { default: Conf } = await import("conf");
  const path = profilePath(host);
  return new Conf<Record<string, unknown>>({
    cwd: host.folders.config,
    configName: fileName,
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false, // profile names may hold dots
    clearInvalidConfig: false,
    deserialize: (text) => {
      try {
        return JSON.parse(text) as Record<string, unknown>; // checked by checkedStore
      } catch (error) {
        throw damaged(path, `line ${lineOf(text, error)} is not JSON`);
      }
    },
  });
}

/** Line of a JSON error, from the position in V8's message where it has one. */
function lineOf(text: string, error: unknown): number {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  const before = position === undefined ? text : text.slice(0, Number(position));
  return before.split("\n").length;
}

const damaged = (path: string, problem: string) =>
  new CliError("usage", `the profile file ${path} is damaged: ${problem}`, {
    changed: "nothing",
    hint: "mend the file, or move it away and add the profiles again",
  });

/** The fields checked by hand: a schema would cost 50 ms at each start. */
function checkedStore(value: unknown, path: string): Stored {
  if (!isObject(value)) throw damaged(path, "it is no object");
  const profiles = value["profiles"] ?? {};
  if (!isObject(profiles)) throw damaged(path, "profiles is no object");
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isObject(profile)) throw damaged(path, `profiles.${name} is no object`);
    for (const field of ["base_url", "key", "key_command", "default_app", "user", "output"]) {
      if (profile[field] !== undefined && typeof profile[field] !== "string") {
        throw damaged(path, `profiles.${name}.${field} is no text`);
      }
    }
    if (profile["read_only"] !== undefined && typeof profile["read_only"] !== "boolean") {
      throw damaged(path, `profiles.${name}.read_only is neither true nor false`);
    }
    const apps = profile["apps"] ?? {};
    if (!isObject(apps)) throw damaged(path, `profiles.${name}.apps is no object`);
    for (const [app, entry] of Object.entries(apps)) {
      if (!isObject(entry)) throw damaged(path, `profiles.${name}.apps.${app} is no object`);
      for (const field of ["key", "key_command"]) {
        if (entry[field] !== undefined && typeof entry[field] !== "string") {
          throw damaged(path, `profiles.${name}.apps.${app}.${field} is no text`);
        }
      }
    }
  }
  const standard = value["default"];
  if (standard !== undefined && typeof standard !== "string") {
    throw damaged(path, "default is no text");
  }
  return value as unknown as Stored; // every field was looked at above
}
