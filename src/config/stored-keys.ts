import { resolve } from "node:path";
import { abortError } from "../api/abort.ts";
import { CliError } from "../errors.ts";
import type { Host, Keyring } from "../host/host.ts";
import { isOn } from "../lib/env-flag.ts";
import { profilePath } from "./profiles.ts";

/** Whose key it is. */
export interface Owner {
  readonly profile: string;
  readonly baseUrl: string | undefined;
  /** Application of the profile; the knowledge key is nobody's. */
  readonly app: string | undefined;
}

/** Does the keyring answer? Why not, otherwise. */
type Tried<T> = { readonly value: T } | { readonly why: string };

/**
 * The name under which a key rests. It holds the base URL and the profile file: a key is never found
 * for another server than its own, nor by a profile of the same name elsewhere.
 */
const nameOf = ({ profile, baseUrl, app }: Owner, host: Host): string =>
  [
    profile,
    ...(app === undefined ? [] : [`application ${app}`]),
    baseUrl,
    resolve(host.cwd, profilePath(host)),
  ].join(", ");

/** Asks the keyring. Never throws but for an interrupt. */
async function tried<T>(host: Host, ask: (ring: Keyring) => Promise<T>): Promise<Tried<T>> {
  if (isOn(host.env["KB_NO_KEYRING"])) return { why: "KB_NO_KEYRING is set" };
  try {
    return { value: await ask(await host.keyring()) };
  } catch (error) {
    if (host.signal.aborted) throw abortError(host.signal, false);
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** Puts a key into the keyring. Why it could not, otherwise nothing. */
export async function storeKey(owner: Owner, key: string, host: Host): Promise<string | undefined> {
  const kept = await tried(host, (ring) => ring.set(nameOf(owner, host), key));
  return "why" in kept ? kept.why : undefined;
}

/** Takes a key out of the keyring. Why it could not, otherwise nothing. */
export async function forgetKey(owner: Owner, host: Host): Promise<string | undefined> {
  const gone = await tried(host, (ring) => ring.delete(nameOf(owner, host)));
  return "why" in gone ? gone.why : undefined;
}

/** The key that rests in the keyring. Throws auth where none answers or it has lost the key. */
export async function readStoredKey(owner: Owner, host: Host): Promise<string> {
  const found = await tried(host, (ring) => ring.get(nameOf(owner, host)));
  const { profile, app } = owner;
  const key = `the key of the profile ${profile}${app === undefined ? "" : `, application ${app},`}`;
  const again = `${app === undefined ? "kb" : "wf"} profile add ${profile}${app === undefined ? "" : ` --app ${app}`} --key-file -`;
  if ("why" in found) {
    throw new CliError("auth", `${key} rests in the keyring, and none answers: ${found.why}`, {
      code: "keyring",
      sideEffect: "none",
      hint: `unlock the keyring, or store the key in the profile file: ${again} --insecure-storage`,
    });
  }
  if (found.value === undefined) {
    throw new CliError("auth", `${key} is no longer in the keyring`, {
      code: "keyring",
      sideEffect: "none",
      hint: `store it again: ${again}`,
    });
  }
  return found.value;
}
