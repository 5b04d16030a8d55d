import { hasKey } from "../../../config/profiles.ts";
import type { Profile, StoredKey } from "../../../config/profiles.ts";
import { parseNamedId } from "../../../config/settings.ts";
import type { Target } from "../../../api/calls.ts";
import { appIdMissing } from "../../../api/error-codes.ts";
import { keySetting, runKeyCommand } from "../../../config/stored-keys.ts";
import { keyNames, programs } from "../../../config/target.ts";
import { ApiError, CliError, usage } from "../../../errors.ts";
import { checkKey, isAccessToken, mayOpen } from "../../../lib/api-key.ts";
import type { KeyKind } from "../../../lib/api-key.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { own } from "../../../lib/json.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { loginParams } from "./command.ts";
import { countOpened, isBoundKey, readKey, versionIn } from "../../task/read-server.ts";
import type { KeyReport } from "../../task/read-server.ts";
import type { NewKey } from "./profile.ts";
import { signsFor } from "../../../lib/environment.ts";
import { ask } from "../../task/ask.ts";

/** The arguments and flags of `login`. */
export type LoginInput = Input<typeof loginParams>;

/** A sign-in whose server and profile are known. */
export interface SignIn {
  readonly name: string;
  readonly baseUrl: string;
  /** The profile as it is stored; empty if there is none. */
  readonly existing: Profile;
  readonly input: LoginInput;
  /** Knowledge bases named with --kb, IDs by name. */
  readonly bases: Readonly<Record<string, string>>;
  /** The application of --app, by name, ID or both; undefined without the flag. */
  readonly app: { readonly name?: string; readonly id?: string } | undefined;
}

/** What a sign-in has found. */
export interface Found {
  /** Undefined keeps the stored keys. */
  readonly key: NewKey | undefined;
  /** Undefined if nothing was checked. */
  readonly report?: KeyReport;
}

/** Where the web console shows the keys of a kind. */
const places: Readonly<Record<KeyKind, string>> = {
  dataset: "the web console has knowledge keys under Knowledge, Service API",
  app: "the web console has the keys of an application under API Access or Access Point",
};

/**
 * Reads the key from its file or command, or asks for it until the server accepts it, and says what
 * it opens. Without a key, only a known profile can be changed. Throws usage for a new one.
 */
export async function findKey(signIn: SignIn, context: Context): Promise<Found> {
  const { input, existing, baseUrl } = signIn;
  const { key_command: command, key_file: file } = input;
  const given = file?.trim();
  if (given !== undefined) context.host.secrets.learn(given);
  if (given === "") throw usage("--key-file is empty");
  if (command !== undefined) {
    return examine({ command, source: "--key-command" }, signIn, context);
  }
  if (given !== undefined) return examine({ text: given, source: "--key-file" }, signIn, context);
  if (signIn.app?.id !== undefined && existing.access_token !== undefined)
    return examine({ isStored: true, source: "the profile" }, signIn, context);
  if (context.options.input) return askForKey(signIn, context);
  // An application without a key would be none, however the rest of its profile is stored.
  const isNew =
    signIn.app !== undefined && storedKey(existing, appFor(signIn, context)) === undefined;
  if (input.no_check || (existing.base_url === baseUrl && !isNew)) return { key: undefined };
  throw usage(
    "no key was given",
    "pass it with --key-file FILE (- for stdin) or --key-command; --no-check stores the address alone",
  );
}

async function askForKey(signIn: SignIn, context: Context): Promise<Found> {
  const kind = kindFor(context);
  const ownKey = storedKey(signIn.existing, appFor(signIn, context));
  const keeps = (ownKey ?? signIn.existing.access_token) !== undefined;
  if (!keeps) await context.promptLine(places[kind]);
  const name =
    kind === "app" ? "Application key (app-… or sk-…" : "Knowledge key (dataset-… or sk-…";
  const found = await askUntilAccepted(
    {
      text: `${name}, hidden${keeps ? "; Enter keeps the stored one" : ""})`,
      hidden: true,
      accept: (text) => examine({ text, source: "the key" }, signIn, context),
    },
    context,
  );
  if (found !== undefined) return found;
  if (ownKey) return { key: undefined };
  if (keeps) return examine({ isStored: true, source: "the profile" }, signIn, context);
  throw usage("no key entered; nothing was stored");
}

/** A key as it was given: its text, the command that prints it, or the access token of the profile. */
interface GivenKey {
  readonly text?: string | undefined;
  readonly command?: string | undefined;
  readonly isStored?: true;
  /** Its flag; "the key" if it was typed at a prompt, which is shown again if the key is wrong. */
  readonly source: "--key-file" | "--key-command" | "the key" | "the profile";
}

/** The text of a key; undefined if only its command is known, because nothing is to be checked. */
async function textOf(given: GivenKey, signIn: SignIn, context: Context) {
  const { name: profile, baseUrl, existing, input } = signIn;
  if (given.isStored) {
    const owner = { profile, baseUrl, app: undefined, isToken: true };
    const read = { source: `profile ${profile}, access token`, read: !input.no_check };
    return (await keySetting(existing.access_token, owner, context.host, read)).value;
  }
  if (given.text !== undefined || input.no_check) return given.text;
  return runKeyCommand(given.command ?? "", `profile ${profile}`, context.host);
}

/** Checks a key: its form, its kind, and what it opens. */
async function examine(given: GivenKey, signIn: SignIn, context: Context): Promise<Found> {
  const { input, baseUrl } = signIn;
  const value = await textOf(given, signIn, context);
  if (value !== undefined) {
    checkKey(value, given.source);
    requireKind(value, signIn, context);
  }
  const kind = kindFor(context);
  const appId = signIn.app?.id;
  const givenField = given.text === undefined ? "key_command" : "key";
  const key: NewKey = {
    field: given.isStored ? undefined : givenField,
    value: given.text ?? given.command ?? "",
    isToken: value === undefined ? appId !== undefined : isAccessToken(value),
    app: appFor(signIn, context),
    appId,
    inFile: input.insecure_storage ?? false,
  };
  if (input.no_check || value === undefined) return { key };
  const target = { baseUrl, key: value, ...(appId !== undefined && { appId }) };
  try {
    if (kind === "app") return await examineApp(key, target, signIn, context);
    return { key, report: await readKey(kind, target, context) };
  } catch (error) {
    if (isBoundKey(kind, error)) {
      const opens = await examineBoundKey(signIn, target, context);
      return { key, report: { version: versionIn(error.response.version), opens } };
    }
    const isAsked = given.source === "the key";
    const isRejected = error instanceof ApiError && error.response.status === 401;
    if (isAsked) throw isRejected ? error.with({ hint: undefined }) : error;
    throw notStored(isRejected ? error.with({ hint: places[kind] }) : error);
  }
}

/** What a key of applications opens; an access token that opens several is asked for the ID of one. */
async function examineApp(
  key: NewKey,
  target: Target & { readonly key: string },
  signIn: SignIn,
  context: Context,
): Promise<Found> {
  try {
    const report = await readKey("app", target, context);
    return {
      key: { ...key, app: appFor(signIn, context, report.app), appId: target.appId },
      report,
    };
  } catch (error) {
    const opensSeveral = error instanceof ApiError && error.message.includes(appIdMissing);
    if (!opensSeveral || !context.options.input) throw error;
  }
  const found = await askUntilAccepted(
    {
      text: "The key opens several applications. ID of one (the address of its page in the web console has it)",
      async accept(text) {
        const [, appId] = parseNamedId(text, "the ID of an application");
        return examineApp(key, { ...target, appId }, signIn, context);
      },
    },
    context,
  );
  if (found === undefined) throw usage("no ID entered; nothing was stored");
  return found;
}

/** The error of a check that ends the command, with how to store the profile anyway. */
function notStored(error: unknown): unknown {
  const kinds = ["auth", "network", "unsupported", "failure", "limited", "refused", "not-found"];
  if (!(error instanceof CliError) || !kinds.includes(error.kind)) return error;
  const { hint } = error.info;
  const stored = "nothing was stored; --no-check stores without a request";
  return error.with({
    sideEffect: "none",
    hint: hint === undefined ? stored : `${hint}; ${stored}`,
  });
}

const kindFor = ({ options }: Context): KeyKind =>
  options.program === "wf" || options.flags.app !== undefined ? "app" : "dataset";

/** A name that can be typed. */
export const validName = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]*$/u;

/**
 * The name under which an application key is stored: that of --app, else the application's own as the
 * server `shows` it, else that of the profile. Undefined for a knowledge key.
 */
function appFor({ existing, app }: SignIn, context: Context, shows = ""): string | undefined {
  if (kindFor(context) !== "app") return undefined;
  if (app?.name !== undefined) return app.name;
  // A profile may have had its only key as `default`, which a new key must replace.
  if (app === undefined && own(existing.apps, "default")) return "default";
  return validName.test(shows) ? shows : (existing.default_app ?? "default");
}

/** Throws usage for another kind of key than --app stores, and auth for another than that of the program. */
function requireKind(value: string, { name, app }: SignIn, context: Context): void {
  const { flags, program } = context.options;
  const wanted = kindFor(context);
  if (app?.id !== undefined && !isAccessToken(value)) {
    const hint = `an application key opens one application: ${commandLine("wf login", [name], { app: app.name })}`;
    throw usage("only an access token (sk-…) opens applications by their ID", hint);
  }
  if (mayOpen(value, wanted)) return;
  const actual: KeyKind = wanted === "app" ? "dataset" : "app";
  if (flags.app !== undefined) {
    const message = "--app stores an application key, but this is a knowledge key (dataset-…)";
    throw usage(message, "omit --app");
  }
  const problem = `this is ${keyNames[actual]}, but ${program} uses ${keyNames[wanted]}`;
  const login = commandLine(`${programs[actual]} login`, [name]);
  const hint = `sign in with the other program: ${login}`;
  throw new CliError("auth", problem, { sideEffect: "none", hint });
}

/** The stored key of an application, or the knowledge key; undefined if there is none. */
function storedKey(profile: Profile, app: string | undefined): StoredKey | undefined {
  const stored = app === undefined ? profile : own(profile.apps, app);
  return stored && [stored, profile.access_token ?? {}].find(hasKey);
}

/** What a key that may not list knowledge bases opens: of those named or stored. Throws auth for none of them. */
async function examineBoundKey(
  { name, bases, existing }: SignIn,
  target: { readonly baseUrl: string; readonly key: string },
  context: Context,
): Promise<string> {
  const ids = [...new Set(Object.values({ ...existing.knowledge_bases, ...bases }))];
  const opened = await countOpened(ids, target, context);
  if (opened > 0) return `opens only some knowledge bases: ${opened} of the ${ids.length} named`;
  if (ids.length > 0) {
    throw new CliError("auth", "the key opens none of the knowledge bases named", {
      sideEffect: "none",
      hint: "check their IDs: they are in the addresses of the web console",
    });
  }
  if (isAccessToken(target.key)) {
    const app = commandLine("wf login", [name], { app: "NAME=ID" });
    return `lists no knowledge bases; its applications are added with ${app}`;
  }
  const later = commandLine("kb login", [name], { kb: "NAME=ID" });
  return `opens only some knowledge bases and cannot list them; name them with ${later}`;
}

interface Question<T> {
  /** The question without its default and colon. */
  readonly text: string;
  /** What Enter means at the first time. */
  readonly fallback?: string | undefined;
  /** The reply is a key: it is not echoed, and masked from then on. */
  readonly hidden?: true;
  /** Checks the reply. Throws CliError if it is wrong. */
  accept(reply: string): Promise<T>;
}

/**
 * Asks until `accept` takes the reply, saying each time what is wrong with it. Undefined if the reply
 * is empty. Throws interrupted on Ctrl-C.
 */
export async function askUntilAccepted<T>(
  { text, fallback, hidden, accept }: Question<T>,
  context: Context,
): Promise<T | undefined> {
  let enter = fallback;
  for (;;) {
    const question = enter === undefined ? `${text}: ` : `${text} [${enter}]: `;
    const reply = (await ask(question, context, { hidden: hidden === true })) || enter;
    if (reply === undefined) return undefined;
    if (hidden) context.host.secrets.learn(reply);
    try {
      return await accept(reply);
    } catch (error) {
      const isWrong = error instanceof CliError && error.kind !== "interrupted";
      if (!isWrong || context.host.signal.aborted) throw error;
      await tellProblem(error, context);
    }
    enter = undefined;
  }
}

async function tellProblem(
  { message, info }: CliError,
  { host, promptLine }: Context,
): Promise<void> {
  await promptLine(`${signsFor(host.env).fail}${message}`);
  if (info.hint !== undefined) await promptLine(`  ${info.hint}`);
}
