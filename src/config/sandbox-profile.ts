import type { Host } from "../host/host.ts";
import { isObject, tryParseJson } from "../lib/json.ts";
import type { Profile } from "./profiles.ts";

/** Name of the built-in profile of the local sandbox. */
export const sandboxProfile = "sandbox";

/** State file of a running sandbox, in the state directory. */
export const sandboxStatePath = (host: Host): string => `${host.directories.state}/sandbox.json`;

/** Applications that every sandbox has; their keys are public. */
export const sandboxApps: readonly string[] =
  "echo review slow broken loop chat chat-review two-reviews convo inputs retry tolerant flaky batch ask write triage summarize assistant completion agent answers grader".split(
    " ",
  );

/**
 * The built-in profile: public keys, and the base URL of the sandbox if one is running. Its
 * applications are those of the sandbox that this command runs in, or else of the running one.
 */
export async function readSandboxProfile(host: Host): Promise<Profile> {
  const state = await readState(host);
  const keys =
    keysIn(tryParseJson(host.env["KB_SANDBOX_APP_KEYS"] ?? "")) ??
    keysIn(state["apps"]) ??
    sandboxApps.map((name) => [name, `app-${name}`] as const);
  const profile: Profile = {
    key: "dataset-sandbox",
    apps: Object.fromEntries(keys.map(([name, key]) => [name, { key }])),
    default_app: "echo",
  };
  const { base_url } = state;
  return typeof base_url === "string" ? { ...profile, base_url } : profile;
}

/** The state of the running sandbox; empty if there is none: the environment may set the base URL. */
async function readState(host: Host): Promise<Record<string, unknown>> {
  const text = await host.files.read(sandboxStatePath(host)).catch(() => new Uint8Array());
  const state = tryParseJson(new TextDecoder().decode(text));
  return isObject(state) ? state : {};
}

/** The key of each application in a JSON object; undefined if it is not such an object. */
function keysIn(value: unknown): (readonly [name: string, key: string])[] | undefined {
  if (!isObject(value)) return undefined;
  return Object.entries(value).flatMap(([name, key]) =>
    typeof key === "string" ? [[name, key] as const] : [],
  );
}

/** Whether this is the running sandbox, by its address, or a sandbox, by one of its public keys. */
export async function isSandbox(
  host: Host,
  baseUrl: string,
  key: string | undefined,
): Promise<boolean> {
  const { base_url, apps = {}, ...knowledge } = await readSandboxProfile(host);
  const keys = [knowledge, ...Object.values(apps)].map((stored) => stored.key);
  return base_url === baseUrl || (key !== undefined && keys.includes(key));
}
