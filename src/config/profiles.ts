import { abortError, CliError, usage } from "../errors.ts";
import { problemIn } from "../api/response-fields.ts";
import type { Host } from "../host/host.ts";
import { backoff, delays } from "../lib/backoff.ts";
import { shellQuote } from "../lib/command-line.ts";
import { isOn } from "../lib/environment.ts";

/** A key, in one of three places. */
export interface StoredKey {
  readonly key?: string;
  /** Command that prints the key. */
  readonly key_command?: string;
  /** The key is in the keyring (config/stored-keys.ts), not in the file. */
  readonly key_in?: "keyring";
}

/** A profile. Field names are those of the file; the key is the knowledge key. */
export interface Profile extends StoredKey {
  readonly base_url?: string;
  /** Address of the web console, if it is not that of the API without its path. */
  readonly console_url?: string;
  /** Application keys by name. */
  readonly apps?: Readonly<Record<string, StoredKey>>;
  readonly default_app?: string;
  readonly user?: string;
  readonly output?: string;
  readonly read_only?: boolean;
  /** IDs by name of the knowledge bases that the key opens, if it does not open all of them. */
  readonly knowledge_bases?: Readonly<Record<string, string>>;
}

/** Content of the profile file. */
export interface ProfileStore {
  readonly default?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** Whether a key is stored, in any of the three places. */
export const hasKey = ({ key, key_command, key_in }: StoredKey): boolean =>
  (key ?? key_command ?? key_in) !== undefined;

/** Path of the profile file. */
export const profilePath = (host: Host): string => `${host.directories.config}/profiles.json`;

/** How others could change the profile file, and with it the key command that runs; undefined if they cannot. */
export function profileRisk(
  host: Host,
): { readonly reason: string; readonly hint: string } | undefined {
  const part = host.files.untrustedPart(profilePath(host));
  if (part === undefined || isOn(host.env["KB_TRUST_FILES"])) return undefined;
  const { path, reason, isWritable } = part;
  const remedy = isWritable
    ? `run chmod go-w ${shellQuote(path)}`
    : "keep the profiles in a directory of your own (KB_CONFIG_DIR)";
  const anyway =
    "if only you can change it all the same, as in some containers, set KB_TRUST_FILES=1";
  return { reason: `${path} ${reason}`, hint: `${remedy}; ${anyway}` };
}

/**
 * Reads the profile file; a missing one has no profiles. If it is damaged, throws usage with file and
 * line, but does not quote it, because it holds keys.
 */
export async function readProfiles(host: Host): Promise<ProfileStore> {
  const path = profilePath(host);
  const stat = await host.files.stat(path);
  if (!stat) return { profiles: {} };
  if (stat.isDirectory) throw damaged(path, "it is a directory");
  // Not by conf, which writes the file: it takes 30 ms to load, as long as a whole start.
  const text = new TextDecoder().decode(await host.files.read(path));
  try {
    const value: unknown = JSON.parse(text, (_, each: unknown) => each ?? undefined);
    const problem = problemIn(storeFields, value, "");
    // A value could be a misplaced key.
    if (problem !== undefined) throw damaged(path, problem.replace(/ is "[^]*", not /, " is not "));
    const store = value as Partial<ProfileStore>; // all fields are checked
    return { ...store, profiles: store.profiles ?? {} };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw damaged(path, `line ${lineOf(text, error)} is not valid JSON`);
  }
}

const keyFields = { "key?": "text", "key_command?": "text", "key_in?": "=keyring" } as const;
const storeFields = {
  "default?": "text",
  "profiles?": {
    "*": {
      ...keyFields,
      "base_url?": "text",
      "console_url?": "text",
      "default_app?": "text",
      "user?": "text",
      "output?": "text",
      "read_only?": "flag",
      "knowledge_bases?": { "*": "text" },
      "apps?": { "*": keyFields },
    },
  },
} as const;

/** A change of the profile file. */
export interface ProfileChange<T> {
  readonly store: ProfileStore;
  readonly result: T;
  /** Runs after the write, while the file is still locked. */
  readonly after?: () => Promise<void>;
}

/** How long to wait for the lock of the profile file, and after what time to say so. */
const LOCK_TIMEOUT_MS = 30_000;
const LOCK_NOTICE_MS = 500;

/** What waits for the lock. */
interface Waiting {
  readonly host: Host;
  notice(text: string): Promise<void>;
}

/**
 * Changes the profile file. It is locked from before it is read until `after` is done, so concurrent
 * changes are kept. Throws failure if another process does not release the lock.
 */
export async function changeProfiles<T>(
  { host, notice }: Waiting,
  change: (store: ProfileStore) => Promise<ProfileChange<T>>,
): Promise<T> {
  await host.files.makeDirectory(host.directories.config, 0o700);
  const release = await lockProfiles({ host, notice });
  try {
    const { store, result, after } = await change(await readProfiles(host));
    await writeProfiles(host, store);
    await after?.();
    return result;
  } finally {
    release();
  }
}

async function lockProfiles({ host, notice }: Waiting): Promise<() => void> {
  const start = host.elapsed();
  let isTold = false;
  for (;;) {
    const lock = await host.files.lock(`${profilePath(host)}.lock`, host.process);
    if ("release" in lock) return lock.release;
    if (host.signal.aborted) throw abortError(host.signal);
    const waited = host.elapsed() - start;
    if (waited >= LOCK_TIMEOUT_MS) {
      throw new CliError("failure", `the profile file is locked by ${lock.heldBy}`, {
        sideEffect: "none",
        hint: lock.next,
      });
    }
    if (!isTold && waited >= LOCK_NOTICE_MS) {
      isTold = true;
      await notice(`waiting for the profile file, locked by ${lock.heldBy}: ${lock.next}`);
    }
    const delay = backoff(0, delays.lock) * (0.5 + host.random() / 2);
    await host.sleep(delay, host.signal).catch(() => {}); // checked above
  }
}

/** Replaces the profile file atomically, readable by its owner only. */
async function writeProfiles(host: Host, store: ProfileStore): Promise<void> {
  const { files } = host;
  const path = profilePath(host);
  // The file that a link points to is replaced, not the link.
  await files.writeSettings(await files.realPath(path).catch(() => path), store);
}

/** Line of a syntax error, from the position in V8's message if it has one. */
function lineOf(text: string, error: unknown): number {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  const before = position === undefined ? text : text.slice(0, Number(position));
  return before.split("\n").length;
}

const damaged = (path: string, problem: string) =>
  usage(
    `the profile file ${path} is damaged: ${problem}`,
    "fix the file, or move it away and sign in again",
  );

/** A value and where it came from, for `config explain`. */
export interface Setting<T = string> {
  readonly value: T | undefined;
  readonly source: string;
}

/** A setting without a value from any source. */
export const unset: Setting = { value: undefined, source: "not set" };
