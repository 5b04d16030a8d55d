import { kindOfKey } from "../../config/api-key.ts";
import { baseUrlOf, withScheme } from "../../config/base-url.ts";
import { consoleUrlOf, defaultConsoleUrl } from "../../config/console-url.ts";
import type { Profile } from "../../config/profiles.ts";
import { usage } from "../../errors.ts";
import type { Context } from "../command-spec.ts";
import { readServer } from "./key-check.ts";
import { askUntilAccepted } from "./login-prompt.ts";

/** The server of a sign-in. */
export interface Server {
  readonly baseUrl: string;
  /** Its address was asked for, so nothing about it is stored yet. */
  readonly asked: boolean;
}

/**
 * The server to sign in to: that of --base-url or of the profile, or one that is asked for until it
 * responds. Throws usage without an address.
 */
export async function chooseServer(
  existing: Profile | undefined,
  check: boolean,
  context: Context,
): Promise<Server> {
  const { options, host } = context;
  const configured = host.env["KB_BASE_URL"] || undefined;
  const given = options.flags.baseUrl ?? existing?.base_url;
  const text = given ?? (options.input ? undefined : configured);
  if (text !== undefined) return { baseUrl: await completeUrl(text, context), asked: false };
  if (!options.input) {
    const hint = "pass --base-url https://example.com/v1, or the name of a stored profile";
    throw usage("--base-url is required", hint);
  }
  const baseUrl = await askUntilAccepted(
    {
      text: "Address of the server, such as dify.example.com",
      fallback: configured,
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
  if (kindOfKey(text) !== undefined) {
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

/** Name of the profile of a server: its host, and its port where it has one: `localhost-5001`. */
export function profileNameOf(baseUrl: string): string {
  const { hostname, port } = new URL(baseUrl);
  const name = hostname.replace(/[^\w.-]/g, "");
  return port === "" ? name : `${name}-${port}`;
}
