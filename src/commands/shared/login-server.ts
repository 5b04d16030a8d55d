import { baseUrlOf, withScheme } from "../../config/base-url.ts";
import { consoleUrlOf, defaultConsoleUrl } from "../../config/console-url.ts";
import type { ProfileStore } from "../../config/profiles.ts";
import { usage } from "../../errors.ts";
import { own } from "../../lib/json.ts";
import type { Context } from "../command-spec.ts";
import { readServer } from "./key-check.ts";
import { askUntilAccepted } from "./login-prompt.ts";

/** What is known about the server of a sign-in, besides the command line. */
interface KnownServer {
  /** Base URL of the profile. */
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
export async function chooseServer(
  { known, usual, check }: KnownServer,
  context: Context,
): Promise<{ readonly baseUrl: string; readonly asked: boolean }> {
  const { options, host } = context;
  const configured = host.env["KB_BASE_URL"] || undefined;
  const text = options.flags.baseUrl ?? known ?? (options.input ? undefined : configured);
  if (text !== undefined) return { baseUrl: await completeUrl(text, context), asked: false };
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
  return { baseUrl, asked: true };
}

/** The whole base URL, with a notice if it differs from the text. */
async function completeUrl(text: string, { options, notice, host }: Context): Promise<string> {
  // A key at the wrong prompt would be looked up as a host name.
  if (/^(app|dataset)-[\w-]{16,}$/.test(text)) {
    host.secrets.learn(text);
    throw usage("this is a key, not an address; its prompt comes next");
  }
  const url = baseUrlOf(withScheme(text), options.flags.insecureHttp ?? false);
  if (url !== text.replace(/(?<!\/)\/+$/, "")) await notice(`base URL ${url}`);
  return url;
}

/** Asks for the address of the web console. Undefined for the default one. */
export async function askForConsole(
  baseUrl: string,
  context: Context,
): Promise<string | undefined> {
  const usual = defaultConsoleUrl(baseUrl);
  const accept = (reply: string) => Promise.resolve(consoleUrlOf(reply));
  const question = { text: "Address of its web console", fallback: usual, accept };
  const url = await askUntilAccepted(question, context);
  return url === usual ? undefined : url;
}

/**
 * Name of the profile for a server: that of the profile which has it, the default one first, else its
 * host, and its port where it has one: `localhost-5001`.
 */
export function profileNameFor(baseUrl: string, store: ProfileStore): string {
  const names = [store.default ?? "", ...Object.keys(store.profiles)];
  const stored = names.find((name) => own(store.profiles, name)?.base_url === baseUrl);
  if (stored !== undefined) return stored;
  const { hostname, port } = new URL(baseUrl);
  const name = hostname.replace(/[^\w.-]/g, "");
  return port === "" ? name : `${name}-${port}`;
}
