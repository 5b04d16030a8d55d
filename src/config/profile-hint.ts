import { commandLine } from "../lib/command-line.ts";
import { didYouMean } from "../lib/did-you-mean.ts";
import type { ProfileStore } from "./profiles.ts";
import { sandboxProfile } from "./sandbox-profile.ts";

/** The hint for a profile that does not exist: a similar name, all names, or how to sign in. */
export function missingProfileHint(name: string, { profiles }: ProfileStore, program: string) {
  const names = Object.keys(profiles);
  const near = didYouMean(name, [...names, sandboxProfile]);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  if (names.length > 0) return `stored profiles: ${names.join(", ")}`;
  return `no profiles are stored; sign in with ${commandLine(`${program} login`, [name])}`;
}

/** The hint for an application that a profile does not have: a similar name, all names, or how to add it. */
export function missingAppHint(app: string, names: readonly string[], profile: string | undefined) {
  const near = didYouMean(app, names);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  if (names.length > 0) return `applications of the profile: ${names.join(", ")}`;
  return `add it with ${commandLine("wf login", profile === undefined ? [] : [profile], { app })}`;
}
