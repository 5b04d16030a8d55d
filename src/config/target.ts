import type { Target } from "../api/calls.ts";
import { CliError, usage } from "../errors.ts";
import { checkKey, isAccessToken, mayOpen } from "../lib/api-key.ts";
import type { KeyKind } from "../lib/api-key.ts";
import { commandLine } from "../lib/command-line.ts";
import { baseUrlOf, isLoopback, sandboxProfile } from "./profiles.ts";
import type { Setting } from "./profiles.ts";
import type { Settings } from "./settings.ts";

/** What keys are called in messages, by kind. */
export const keyNames: Readonly<Record<KeyKind, string>> = {
  dataset: "a knowledge key (dataset-…)",
  app: "an application key (app-…)",
};

/** The program that takes keys of a kind. */
export const programs: Readonly<Record<KeyKind, "kb" | "wf">> = { dataset: "kb", app: "wf" };

/** Resolves the base URL and the API key for a request. Throws usage or auth. */
export function targetOf(settings: Settings, kind: KeyKind): Target & { readonly key: string } {
  const baseUrl = requireBaseUrl(settings, kind);
  const key = keyFor(settings, kind);
  if (key.value === undefined) throw noKey(settings, kind);
  guardStoredKey(settings, key);
  checkKey(key.value, `the key from ${key.source}`);
  if (!mayOpen(key.value, kind)) throw wrongKind(key, kind);
  const { app, appId } = settings;
  const opensSeveral = kind === "app" && isAccessToken(key.value);
  // The key of one application would silently be used for another one.
  if (kind === "app" && !opensSeveral && appId !== undefined && app.value?.toLowerCase() === appId)
    throw usage(
      `application ${appId} is named by its ID, but ${key.source} holds a key that opens one application`,
      "an ID selects an application of an access token (sk-…); others are selected by their name in the profile",
    );
  return { baseUrl, key: key.value, ...(opensSeveral && { appId }) };
}

/** The key of this kind, or the other one if it may open both kinds. */
function keyFor({ knowledgeKey, appKey }: Settings, kind: KeyKind): Setting {
  const [own, other] = kind === "dataset" ? [knowledgeKey, appKey] : [appKey, knowledgeKey];
  const isShared = other.value !== undefined && mayOpen(other.value, kind);
  return own.value === undefined && isShared ? other : own;
}

/** A stored key is only sent to the base URL of its profile, that of the sandbox only to loopback. */
function guardStoredKey({ baseUrl, stored }: Settings, key: Setting): void {
  if (!stored || baseUrl.value === undefined || !key.source.startsWith(stored.source)) return;
  if (stored.name === sandboxProfile) {
    if (isLoopback(new URL(baseUrl.value).hostname)) return;
  } else if (stored.baseUrl !== undefined && baseUrlOf(stored.baseUrl, true) === baseUrl.value) {
    return;
  }
  throw usage(
    `the key of profile ${stored.name} belongs to ${stored.baseUrl ?? "no base URL"}, but the base URL is ${baseUrl.value} (${baseUrl.source})`,
    "select the profile of that server with -p, or set KB_KEY or KB_APP_KEY",
  );
}

/** The base URL of the settings. Throws usage, with how to sign in, if none is set. */
export function requireBaseUrl({ baseUrl, profile }: Settings, kind: KeyKind): string {
  if (baseUrl.value !== undefined) return baseUrl.value;
  const program = programs[kind];
  if (profile.value === sandboxProfile) {
    throw usage("no sandbox is running", `start one: ${commandLine(`${program} sandbox`)}`);
  }
  throw usage(
    `no server is set up: sign in with ${commandLine(`${program} login`)}`,
    `to try without a server: ${commandLine(`${program} sandbox --ephemeral -- bash`)}`,
  );
}

function noKey({ apps, profile }: Settings, kind: KeyKind): CliError {
  const name = profile.value === undefined ? [] : [profile.value];
  const login = commandLine(`${programs[kind]} login`, name);
  const hints = {
    dataset: `sign in with ${login}, or set KB_KEY`,
    app:
      apps.length > 0
        ? `select an application with --app: ${apps.join(", ")}`
        : `sign in with ${login}, or set KB_APP_KEY`,
  };
  return new CliError("auth", `this command needs ${keyNames[kind]}, but none is set`, {
    sideEffect: "none",
    hint: hints[kind],
  });
}

function wrongKind({ source }: Setting, kind: KeyKind): CliError {
  const actual = keyNames[kind === "app" ? "dataset" : "app"];
  const message = `this command needs ${keyNames[kind]}, but ${source} holds ${actual}`;
  return new CliError("auth", message, {
    sideEffect: "none",
    hint: kind === "dataset" ? "use application keys with `wf`" : "use knowledge keys with `kb`",
  });
}
