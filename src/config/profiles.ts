import { abortError } from "../api/abort.ts";
import { CliError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { isObject } from "../lib/json.ts";

/** One key, in one of three places. */
export interface StoredKey {
  readonly key?: string;
  /** Command that prints it. */
  readonly key_command?: string;
  /** It rests there (config/keyring.ts), not in the file. */
  readonly key_in?: "keyring";
}

/** What is stored under a name. Field names are those of the file; the key is the knowledge key. */
export interface Profile extends StoredKey {
  readonly base_url?: string;
  /** Application keys by the name they were given. */
  readonly apps?: Readonly<Record<string, StoredKey>>;
  readonly default_app?: string;
  readonly user?: string;
  readonly output?: string;
  readonly read_only?: boolean;
  /** Ids of the knowledge bases that its key opens, by name, where it does not open all. */
  readonly knowledge_bases?: Readonly<Record<string, string>>;
}

/** The profile file. */
export interface Stored {
  readonly default?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** Has it a key? */
export const hasKey = ({ key, key_command, key_in }: StoredKey): boolean =>
  (key ?? key_command ?? key_in) !== undefined;

/** Path of the profile file. */
export const profilePath = (host: Host): string => `${host.directories.config}/profiles.json`;

/**
 * Reads the profile file; no file gives no profiles. Throws usage naming file and line when it is
 * damaged, and never quotes it: it holds keys. The file is left untouched.
 */
export async function readProfiles(host: Host): Promise<Stored> {
  const path = profilePath(host);
  const found = await host.files.stat(path);
  if (!found) return { profiles: {} };
  if (found.isDirectory) throw damaged(path, "it is a folder");
  const text = new TextDecoder().decode(await host.files.read(path));
  try {
    return checkedStore(JSON.parse(text), path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw damaged(path, `line ${lineOf(text, error)} is not JSON`);
  }
}

/** What becomes of the profile file. */
export interface Changed<T> {
  readonly stored: Stored;
  readonly result: T;
  /** What is to be done once that is on disk, before others may change it. */
  readonly after?: () => Promise<void>;
}

/** ms after which who holds the profile file is taken to have stopped. */
const patience = 30_000;
/** ms between two looks at it. */
const beat = 25;

/**
 * Changes the profile file, read under its lock: what others wrote before is there, and nobody writes
 * meanwhile. Throws failure where somebody does not let go of it.
 */
export async function changeProfiles<T>(
  host: Host,
  change: (stored: Stored) => Promise<Changed<T>>,
): Promise<T> {
  await host.files.makeDirectory(host.directories.config, 0o700);
  const release = await lockOf(host);
  try {
    const { stored, result, after } = await change(await readProfiles(host));
    await writeProfiles(host, stored);
    await after?.();
    return result;
  } finally {
    release();
  }
}

async function lockOf(host: Host): Promise<() => void> {
  const until = host.elapsed() + patience;
  for (;;) {
    const lock = await host.files.lock(`${profilePath(host)}.lock`, host.process);
    if ("release" in lock) return lock.release;
    if (host.signal.aborted) throw abortError(host.signal, false);
    if (host.elapsed() >= until) {
      throw new CliError("failure", `the profile file is being changed by ${lock.heldBy}`, {
        sideEffect: "none",
        hint: "end that program, or wait for it",
      });
    }
    await host.sleep(beat * (1 + host.random()), host.signal).catch(() => {}); // told above
  }
}

/** Replaces the profile file, whole or not at all, readable by the owner alone. */
async function writeProfiles(host: Host, stored: Stored): Promise<void> {
  const { files } = host;
  const named = profilePath(host);
  const path = await files.realPath(named).catch(() => named); // a link stays one
  await files.writeSettings(path, stored);
}

/** Line of a JSON error, from the position in V8's message where it has one. */
function lineOf(text: string, error: unknown): number {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  const before = position === undefined ? text : text.slice(0, Number(position));
  return before.split("\n").length;
}

const damaged = (path: string, problem: string) =>
  new CliError("usage", `the profile file ${path} is damaged: ${problem}`, {
    sideEffect: "none",
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
    checkKeyIn(profile, `profiles.${name}`, path);
    const bases = profile["knowledge_bases"] ?? {};
    if (!isObject(bases) || Object.values(bases).some((id) => typeof id !== "string")) {
      throw damaged(path, `profiles.${name}.knowledge_bases are not ids by name`);
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
      checkKeyIn(entry, `profiles.${name}.apps.${app}`, path);
    }
  }
  const standard = value["default"];
  if (standard !== undefined && typeof standard !== "string") {
    throw damaged(path, "default is no text");
  }
  return { ...value, profiles } as Stored; // every field was looked at above
}

function checkKeyIn(entry: Record<string, unknown>, where: string, path: string): void {
  const place = entry["key_in"];
  if (place === undefined || place === "keyring") return;
  throw damaged(path, `${where}.key_in is not "keyring"`);
}
