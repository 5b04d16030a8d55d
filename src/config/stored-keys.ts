import { resolve } from "node:path";
import { abortError } from "../api/abort.ts";
import { CliError, reasonOf } from "../errors.ts";
import type { Host, Keyring } from "../host/host.ts";
import { isOn } from "../lib/env-flag.ts";
import { shellQuote } from "../lib/shell-quote.ts";
import { profilePath } from "./profiles.ts";
import type { StoredKey } from "./profiles.ts";
import { unset } from "./setting.ts";
import type { Setting } from "./setting.ts";

/** Whose key it is. */
export interface KeyOwner {
  readonly profile: string;
  readonly baseUrl: string | undefined;
  /** Application of the profile; undefined for its knowledge key. */
  readonly app: string | undefined;
}

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
  const learn = (key: string) => {
    host.secrets.learn(key);
    return key;
  };
  if (entry?.key_in !== undefined) {
    const value = read ? learn(await readStoredKey(owner, host)) : undefined;
    return { value, source: `${source}, in the keyring` };
  }
  if (entry?.key !== undefined) return { value: learn(entry.key), source };
  if (entry?.key_command === undefined) return unset;
  const value = read ? learn(await runKeyCommand(entry.key_command, source, host)) : undefined;
  return { value, source: `${source}, from a command` };
}

/** Limit of the output of a key command. */
const MAX_COMMAND_OUTPUT = 64 * 1024;

/** Runs a key command and returns the key that it prints. The signal of the host ends it. */
async function runKeyCommand(command: string, source: string, host: Host): Promise<string> {
  const { signal } = host;
  const child = host.spawn(command, [], { collect: MAX_COMMAND_OUTPUT, shell: true, signal });
  const keyError = (problem: string, cause?: unknown) =>
    new CliError("auth", `the key command of ${source} ${problem}`, {
      sideEffect: "none",
      cause,
      hint: `run it to see why: ${command}`,
    });
  const result = await Promise.all([child.exit, child.output]).catch((cause: unknown) => {
    if (signal.aborted) throw abortError(signal, false);
    throw keyError(`failed: ${reasonOf(cause)}`, cause);
  });
  if (signal.aborted) throw abortError(signal, false);
  const [exit, output] = result;
  const key = output.trim();
  if (exit === 0 && key !== "") return key;
  throw keyError(`printed no key (exit code ${exit})`);
}

/**
 * Name of a keyring entry. It contains the base URL and the path of the profile file: a key is never
 * found for another server, nor by a profile of the same name in another file.
 */
const entryName = ({ profile, baseUrl, app }: KeyOwner, host: Host): string =>
  [
    profile,
    ...(app === undefined ? [] : [`application ${app}`]),
    baseUrl,
    resolve(host.cwd, profilePath(host)),
  ].join(", ");

/** The result of a keyring call, or why it failed. */
type KeyringResult<T> = { readonly value: T } | { readonly problem: string };

/** Calls the keyring. Throws only if interrupted. */
async function callKeyring<T>(
  host: Host,
  call: (keyring: Keyring) => Promise<T>,
): Promise<KeyringResult<T>> {
  if (isOn(host.env["KB_NO_KEYRING"])) return { problem: "KB_NO_KEYRING is set" };
  try {
    return { value: await call(await host.keyring()) };
  } catch (error) {
    if (host.signal.aborted) throw abortError(host.signal, false);
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Stores a key in the keyring. Returns why that failed, or undefined. */
export async function storeKey(
  owner: KeyOwner,
  key: string,
  host: Host,
): Promise<string | undefined> {
  const result = await callKeyring(host, (keyring) => keyring.set(entryName(owner, host), key));
  return "problem" in result ? result.problem : undefined;
}

/** Deletes a key from the keyring. Returns why that failed, or undefined. */
export async function deleteKey(owner: KeyOwner, host: Host): Promise<string | undefined> {
  const result = await callKeyring(host, (keyring) => keyring.delete(entryName(owner, host)));
  return "problem" in result ? result.problem : undefined;
}

/** Reads a key from the keyring. Throws auth if the keyring is unavailable or has lost the key. */
async function readStoredKey(owner: KeyOwner, host: Host): Promise<string> {
  const result = await callKeyring(host, (keyring) => keyring.get(entryName(owner, host)));
  if ("value" in result && result.value !== undefined) return result.value;
  const { profile, app } = owner;
  const key =
    app === undefined
      ? `the key of profile ${profile}`
      : `the key of application ${app} in profile ${profile}`;
  const add =
    app === undefined
      ? `kb profile add ${shellQuote(profile)}`
      : `wf profile add ${shellQuote(profile)} --app ${shellQuote(app)}`;
  const problem =
    "problem" in result
      ? `the keyring is not available: ${result.problem}`
      : "the keyring has no such entry";
  throw new CliError("auth", `failed to read ${key}: ${problem}`, {
    code: "keyring",
    sideEffect: "none",
    hint:
      "problem" in result
        ? `unlock the keyring, or store the key in the profile file: ${add} --key-file - --insecure-storage`
        : `store it again: ${add} --key-file -`,
  });
}
