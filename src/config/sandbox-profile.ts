import type { Host } from "../host/host.ts";
import type { Profile } from "./profiles.ts";

/** Name of the built-in profile of the local sandbox. */
export const sandboxProfile = "sandbox";

/** State file of a running sandbox, in the state directory. */
export const sandboxStatePath = (host: Host): string => `${host.directories.state}/sandbox.json`;

/** Applications of the sandbox; their keys are public. */
export const sandboxApps =
  "echo review slow broken loop chat chat-review two-reviews convo inputs retry tolerant flaky batch".split(
    " ",
  );

/** The built-in profile: public keys, and the base URL of the sandbox if one is running. */
export async function readSandboxProfile(host: Host): Promise<Profile> {
  const apps = Object.fromEntries(sandboxApps.map((name) => [name, { key: `app-${name}` }]));
  const profile: Profile = { key: "dataset-sandbox", apps, default_app: "echo" };
  try {
    const text = new TextDecoder().decode(await host.files.read(sandboxStatePath(host)));
    const state = JSON.parse(text) as { base_url?: unknown }; // checked in the next line
    return typeof state.base_url === "string" ? { ...profile, base_url: state.base_url } : profile;
  } catch {
    return profile; // none is running: the environment may set the base URL
  }
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
