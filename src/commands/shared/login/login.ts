import {
  baseUrlOf,
  changeProfiles,
  consoleUrlOf,
  readProfiles,
  rememberedFor,
  sandboxProfile,
  withScheme,
  withoutUrlSecrets,
  isLoopback,
} from "../../../config/profiles.ts";
import type { Profile, ProfileStore } from "../../../config/profiles.ts";
import { parseNamedId } from "../../../config/settings.ts";
import { usage } from "../../../errors.ts";
import { looksLikeKey } from "../../../lib/api-key.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { signsFor } from "../../../lib/environment.ts";
import { own } from "../../../lib/json.ts";
import { isUuid } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { readServer } from "../../task/read-server.ts";
import { findKey, validName, askUntilAccepted } from "./login-key.ts";
import type { Found, LoginInput, SignIn } from "./login-key.ts";
import { requireSameServer, withProfile } from "./profile.ts";
import type { ProfileRow } from "./profile.ts";

/** `login`: checks an address and a key, and stores them as a profile. */
export const login = {
  async *run(input: LoginInput, given: Context): AsyncGenerator<ProfileRow> {
    const context = given.options.input ? withoutRetries(given) : given;
    const { host, options, notice } = context;
    const signIn = await begin(input, context);
    const { name, baseUrl, bases } = signIn;
    const found = await findKey(signIn, context);
    const console_url = input.console_url && consoleUrlOf(input.console_url);
    const said = `${signsFor(host.env).pass}${name}: ${sentence(found)}`;
    if (options.dryRun) return await notice(`${said} (dry run: nothing was stored)`);
    const fields = { ...fieldsOf(input, context), ...(console_url && { console_url }) };
    const addition = { name, baseUrl, key: found.key, bases, fields };
    // Read again under the lock: other processes may have changed the file since.
    const row = await changeProfiles(context, (store) => withProfile(store, addition, context));
    await notice(said);
    await advise(row, found.key?.app, context);
    // A terminal shows the sentence in place of the row.
    if (!options.terminal || options.format !== undefined) yield row;
  },
};

/** At a prompt, people retry on their own. */
const withoutRetries = (context: Context): Context => ({
  ...context,
  api: context.api.with({ retries: 0 }),
});

async function begin(input: LoginInput, context: Context): Promise<SignIn> {
  const typedName = input.name ?? context.options.flags.profile;
  if (input.key_file !== undefined && input.key_command !== undefined) {
    throw usage("--key-file and --key-command cannot be used together");
  }
  if (input.console_url !== undefined) consoleUrlOf(input.console_url);
  rememberedFor({ value: input.remember_runs, source: "--remember-runs" });
  const bases = Object.fromEntries(
    (input.kb ?? []).map((text) => parseNamedId(text, "a knowledge base ID")),
  );
  const store = await readProfiles(context.host);
  if (!own(store.profiles, typedName ?? "")) requireProfileName(typedName ?? "", context);
  if (typedName !== undefined) checkProfileName(typedName);
  const baseUrl = await chooseServer(
    {
      known: own(store.profiles, typedName ?? "")?.base_url,
      usual: own(store.profiles, store.default ?? "")?.base_url,
      check: !input.no_check,
    },
    context,
  );
  const name = typedName ?? profileNameFor(baseUrl, store);
  const existing = own(store.profiles, name) ?? {};
  requireSameServer(name, existing, baseUrl, context);
  return { name, baseUrl, existing, input, bases, app: appIn(context.options.flags.app) };
}

/** `support`, `support=ID` or an ID alone, which is named by the server. */
function appIn(text: string | undefined): SignIn["app"] {
  if (text === undefined) return undefined;
  if (!text.includes("=") && !isUuid(text)) return { name: text };
  const [name, id] = parseNamedId(text, "the ID of an application");
  return name === id || name === text ? { id } : { name, id };
}

/** Throws usage for an address or a key in the place of a profile that is new, as other programs take it. */
function requireProfileName(name: string, { host, options: { program, flags } }: Context): void {
  if (looksLikeKey(name)) {
    host.secrets.learn(name);
    throw usage(
      "that looks like a key, not the name of a profile; others on this machine could read it",
      "use --key-file FILE (- for stdin) or --key-command COMMAND",
    );
  }
  const isAddress =
    /^https?:|\.[a-z]{2,}(:\d+)?(\/|$)|^localhost(:|$)|^\d+(\.\d+){3}(:|\/|$)/i.test(name);
  const hasAddress = flags.baseUrl !== undefined || host.env["KB_BASE_URL"];
  if (!isAddress || (hasAddress && !name.includes("//"))) return;
  const address = withoutUrlSecrets(withScheme(name));
  throw usage(
    `${address} is an address, not the name of a profile`,
    `sign in there: ${commandLine(`${program} login`, [], { "base-url": address })}`,
  );
}

function checkProfileName(name: string): void {
  if (name === sandboxProfile) {
    throw usage(
      `"${sandboxProfile}" is the built-in profile of the local sandbox and needs no sign-in`,
      `use it with -p, or for all commands: ${commandLine("kb profile use", [sandboxProfile])}`,
    );
  }
  if (validName.test(name)) return;
  throw usage(
    `invalid profile name ${JSON.stringify(name)}`,
    "use letters, digits, spaces and . _ @ -; begin with a letter or digit",
  );
}

const fieldsOf = (
  { user, format, mark_read_only, remember_runs }: LoginInput,
  { options: { flags } }: Context,
): Pick<Profile, "user" | "output" | "read_only" | "remember_runs"> => ({
  ...(user !== undefined && { user }),
  ...(format !== undefined && { output: format }),
  ...(remember_runs !== undefined && { remember_runs }),
  // --read-only would otherwise have no effect here.
  ...((mark_read_only || flags.readOnly) && { read_only: true }),
});

/** `server 1.14.2, this key opens 12 knowledge bases` */
function sentence({ key, report }: Found): string {
  const { version, opens } = report ?? {};
  const parts = [
    ...(version === undefined ? [] : [`server ${version}`]),
    ...(opens === undefined ? [] : [`this key ${opens}`]),
    // The line says under which name wf finds it.
    ...(key?.app === undefined || key.app === report?.app ? [] : [`stored as ${key.app}`]),
  ];
  if (parts.length > 0) return parts.join(", ");
  return key === undefined ? "profile saved" : "key saved without a check";
}

/** What the user should know about the stored profile. */
async function advise(
  { name, default: isDefault, default_app }: ProfileRow,
  app: string | undefined,
  { host, notice, options: { program } }: Context,
): Promise<void> {
  const variables = ["KB_PROFILE", "KB_BASE_URL", program === "kb" ? "KB_KEY" : "KB_APP_KEY"];
  const set = variables.filter((variable) => host.env[variable]);
  if (set.length > 0) {
    const example = commandLine(`${program} doctor`, [], { p: name });
    const names = set.join(", ");
    await notice(`the environment overrides this profile (${names}): ${example} selects it`);
  } else if (!isDefault) {
    const use = commandLine(`${program} profile use`, [name]);
    await notice(`another profile is the default; ${use} changes that`);
  }
  if (app !== undefined && typeof default_app === "string" && app !== default_app) {
    const use = commandLine("wf profile use", [name], { app });
    await notice(`without --app, wf uses ${default_app}; ${use} changes that`);
  }
}

/** What is known about the server of a sign-in, besides the command line. */
interface KnownServer {
  readonly known: string | undefined;
  /** Base URL of the default profile, which is the default at the prompt. */
  readonly usual: string | undefined;
  /** Sends a request to an address that is asked for. */
  readonly check: boolean;
}

/**
 * The server to sign in to: that of --base-url or of the profile, or one that is asked for until it
 * responds. Throws usage without an address.
 */
async function chooseServer(
  { known, usual, check }: KnownServer,
  context: Context,
): Promise<string> {
  const { options, host } = context;
  const configured = host.env["KB_BASE_URL"] || undefined;
  const text = options.flags.baseUrl ?? known ?? (options.input ? undefined : configured);
  if (text !== undefined) return completeUrl(text, context);
  if (!options.input) {
    const hint = "pass --base-url https://example.com/v1, or the name of a stored profile";
    throw usage("--base-url is required", hint);
  }
  const baseUrl = await askUntilAccepted(
    {
      text: "Address of the server, such as dify.example.com",
      fallback: configured ?? usual,
      async accept(reply) {
        const url = await completeUrl(reply, context);
        if (check) await readServer(url, context);
        return url;
      },
    },
    context,
  );
  if (baseUrl === undefined) throw usage("no address entered; nothing was stored");
  return baseUrl;
}

/** The whole base URL, with a notice if it differs from the text. */
async function completeUrl(text: string, { options, notice, host }: Context): Promise<string> {
  // A key at the wrong prompt would be looked up as a host name.
  if (looksLikeKey(text)) {
    host.secrets.learn(text);
    throw usage("this is a key, not an address; its prompt comes next");
  }
  const url = baseUrlOf(withScheme(text), options.flags.insecureHttp ?? false);
  if (url !== text.replace(/(?<!\/)\/+$/, "")) await notice(`base URL ${url}`);
  return url;
}

/**
 * Name of the profile for a server: that of the profile which has it, the default one first, else
 * `local` or its host, with its port where another server has that name: `local-5001`.
 */
function profileNameFor(baseUrl: string, store: ProfileStore): string {
  const names = [store.default ?? "", ...Object.keys(store.profiles)];
  const stored = names.find((name) => own(store.profiles, name)?.base_url === baseUrl);
  if (stored !== undefined) return stored;
  const { hostname, port } = new URL(baseUrl);
  const name = isLoopback(hostname) ? "local" : hostname.replace(/[^\w.-]/g, "");
  return port === "" || !own(store.profiles, name) ? name : `${name}-${port}`;
}
