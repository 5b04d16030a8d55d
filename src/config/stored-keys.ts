import { resolve } from "node:path";
import { abortError, CliError, reasonOf, usage } from "../errors.ts";
import type { Host, Keyring } from "../host/host.ts";
import { commandLine } from "../lib/command-line.ts";
import { isOn } from "../lib/environment.ts";
import { hasKey, profilePath, profileRisk, unset } from "./profiles.ts";
import type { Profile, StoredKey, Setting } from "./profiles.ts";

/** Whose key it is. */
export interface KeyOwner {
  readonly profile: string;
  readonly baseUrl: string | undefined;
  /** Application of the profile; undefined for its knowledge key and its access token. */
  readonly app: string | undefined;
  readonly isToken?: boolean | undefined;
}

/** `work`, `work, application support` or `work, access token`, as entries of the keyring are named. */
export const ownerText = ({ profile, app, isToken }: KeyOwner): string =>
  [
    profile,
    ...(app === undefined ? [] : [`application ${app}`]),
    ...(isToken ? ["access token"] : []),
  ].join(", ");

/** The keys of a profile, each with whose it is. */
export const keysOf = (
  name: string,
  { base_url: baseUrl, access_token: token, apps = {}, ...knowledge }: Profile,
): readonly (readonly [owner: KeyOwner, key: StoredKey])[] => {
  const owner: KeyOwner = { profile: name, baseUrl, app: undefined };
  return [
    [owner, knowledge] as const,
    [{ ...owner, isToken: true }, token ?? {}] as const,
    ...Object.entries(apps).map(([app, key]) => [{ ...owner, app }, key] as const),
  ].filter(([, key]) => hasKey(key));
};

/**
 * A stored key as a setting. With `read` it is also read from its command or the keyring; otherwise
 * it has a source but no value.
 */
export async function keySetting(
  entry: StoredKey | undefined,
  owner: KeyOwner,
  host: Host,
  { source, read }: { readonly source: string; readonly read: boolean },
): Promise<Setting> {
  const learn = (key: string) => learnKey(key, host);
  if (entry?.key_in !== undefined) {
    const value = read ? learn(await readStoredKey(owner, host)) : undefined;
    return { value, source: `${source}, in the keyring` };
  }
  if (entry?.key !== undefined) return { value: learn(entry.key), source };
  if (entry?.key_command === undefined) return unset;
  if (read) checkProfileFile(source, host);
  const value = read ? await runKeyCommand(entry.key_command, source, host) : undefined;
  return { value, source: `${source}, from a command` };
}

function learnKey(key: string, host: Host): string {
  host.secrets.learn(key);
  return key;
}

/** Throws usage if others could have written the key command. */
function checkProfileFile(source: string, host: Host): void {
  const risk = profileRisk(host);
  if (risk === undefined) return;
  const why = `others can change the profile file: ${risk.reason}`;
  throw usage(`the key command of ${source} was not run, because ${why}`, risk.hint);
}

const MAX_COMMAND_OUTPUT = 64 * 1024;

/** Runs a key command and returns the key that it prints; throws auth if it prints none. The signal of the host ends it. */
export async function runKeyCommand(command: string, source: string, host: Host): Promise<string> {
  const { signal } = host;
  const child = host.spawn(command, [], { collect: MAX_COMMAND_OUTPUT, shell: true, signal });
  const keyError = (problem: string, cause?: unknown) =>
    new CliError("auth", `the key command of ${source} ${problem}`, {
      sideEffect: "none",
      cause,
      hint: `run it to see why: ${command}`,
    });
  const result = await Promise.all([child.exit, child.output]).catch((cause: unknown) => {
    if (signal.aborted) throw abortError(signal);
    throw keyError(`failed: ${reasonOf(cause)}`, cause);
  });
  if (signal.aborted) throw abortError(signal);
  const [exit, output] = result;
  const key = output.trim();
  if (exit === 0 && key !== "") return learnKey(key, host);
  throw keyError(`printed no key (exit code ${exit})`);
}

/**
 * Calls the keyring for the entry of a key. Its name contains the base URL and the path of the
 * profile file: a key is never found for another server, nor by a profile of the same name in
 * another file. Gives its result, or why it failed; throws only if interrupted.
 */
async function callKeyring<T>(
  owner: KeyOwner,
  host: Host,
  call: (keyring: Keyring, entry: string) => Promise<T>,
): Promise<{ readonly value?: T; readonly problem?: string }> {
  if (isOn(host.env["KB_NO_KEYRING"])) return { problem: "KB_NO_KEYRING is set" };
  const file = resolve(host.cwd, profilePath(host));
  try {
    const keyring = await host.keyring();
    return { value: await call(keyring, [ownerText(owner), owner.baseUrl, file].join(", ")) };
  } catch (error) {
    if (host.signal.aborted) throw abortError(host.signal);
    return { problem: keyringProblem(error instanceof Error ? error.message : String(error)) };
  }
}

/** Why the keyring failed, for people who do not know the bus that Linux reaches it by. */
const keyringProblem = (message: string): string =>
  /d-?bus|org\.freedesktop|secret service/i.test(message)
    ? "no keyring service runs in this session"
    : message;

/** Stores a key in the keyring. Returns why that failed, or undefined. */
export const storeKey = async (owner: KeyOwner, key: string, host: Host) =>
  (await callKeyring(owner, host, (keyring, entry) => keyring.set(entry, key))).problem;

/** Deletes a key from the keyring. Returns why that failed, or undefined. */
export const deleteKey = async (owner: KeyOwner, host: Host) =>
  (await callKeyring(owner, host, (keyring, entry) => keyring.delete(entry))).problem;

/** Reads a key from the keyring. Throws auth if the keyring is unavailable or has lost the key. */
async function readStoredKey(owner: KeyOwner, host: Host): Promise<string> {
  const { value, problem } = await callKeyring(owner, host, (keyring, entry) => keyring.get(entry));
  if (value !== undefined) return value;
  const { profile, app } = owner;
  const key = app === undefined ? `profile ${profile}` : `application ${app} in profile ${profile}`;
  const login = app === undefined ? "kb login" : "wf login";
  const again = (flags: { readonly "insecure-storage"?: true }) =>
    commandLine(login, [profile], { app, ...flags });
  const [reason, hint] =
    problem === undefined
      ? ["the keyring has no such entry", `store it again: ${again({})}`]
      : [
          `the keyring is not available: ${problem}`,
          `unlock the keyring, or store the key in the profile file: ${again({ "insecure-storage": true })}`,
        ];
  throw new CliError("auth", `failed to read the key of ${key}: ${reason}`, {
    code: "keyring",
    sideEffect: "none",
    hint,
  });
}
