import { CliError, usage } from "../errors.ts";
import { checkKey, kindOfKey } from "./api-key.ts";
import type { KeyKind } from "./api-key.ts";
import { baseUrlOf, isLoopback } from "./base-url.ts";
import { sandboxProfile } from "./sandbox-profile.ts";
import type { Setting } from "./setting.ts";
import type { Settings } from "./settings.ts";

/** Where requests go. */
export interface Target {
  readonly baseUrl: string;
  readonly key: string;
}

const keyNames = {
  dataset: "a knowledge key (dataset-…)",
  app: "an application key (app-…)",
} as const;

/** Resolves the base URL and the API key for a request. Throws usage or auth. */
export function targetOf(settings: Settings, kind: KeyKind): Target {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) throw noBaseUrl(settings);
  const key = keyFor(settings, kind);
  if (key.value === undefined) throw noKey(settings, kind);
  guardStoredKey(settings, key);
  checkKey(key.value, `the key from ${key.source}`);
  const actual = kindOfKey(key.value) ?? kind;
  if (actual !== kind) throw wrongKind(key, actual, kind);
  return { baseUrl, key: key.value };
}

/** The key of this kind, or the other one if its prefix does not show its kind. */
function keyFor({ knowledgeKey, appKey }: Settings, kind: KeyKind): Setting {
  const [own, other] = kind === "dataset" ? [knowledgeKey, appKey] : [appKey, knowledgeKey];
  const isUntyped = other.value !== undefined && kindOfKey(other.value) === undefined;
  return own.value === undefined && isUntyped ? other : own;
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

function noBaseUrl({ profile }: Settings): CliError {
  const isSandbox = profile.value === sandboxProfile;
  return usage(
    isSandbox ? "no sandbox is running" : "no base URL is set",
    isSandbox
      ? "start one: kb sandbox"
      : "set KB_BASE_URL, run `kb profile add work`, or try the CLI out with `kb sandbox`",
  );
}

function noKey({ apps }: Settings, kind: KeyKind): CliError {
  const hints = {
    dataset: "set KB_KEY, or store a key with `kb profile add work`",
    app:
      apps.length > 0
        ? `select an application with --app: ${apps.join(", ")}`
        : "set KB_APP_KEY, or store a key with `wf profile add work --app NAME`",
  };
  return new CliError("auth", `this command needs ${keyNames[kind]}, but none is set`, {
    sideEffect: "none",
    hint: hints[kind],
  });
}

function wrongKind({ source }: Setting, actual: KeyKind, kind: KeyKind): CliError {
  const message = `this command needs ${keyNames[kind]}, but ${source} holds ${keyNames[actual]}`;
  return new CliError("auth", message, {
    sideEffect: "none",
    hint: kind === "dataset" ? "use application keys with `wf`" : "use knowledge keys with `kb`",
  });
}
