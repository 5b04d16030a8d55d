import { usage } from "../errors.ts";
import { attempt } from "../lib/attempt.ts";
import { commandLine } from "../lib/command-line.ts";

/** Is this the local machine? */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  /^127(\.\d{1,3}){3}$/.test(hostname) ||
  hostname.endsWith(".localhost");

/** An address as people type it: `example.com` → `https://example.com`, http for this machine. */
export function withScheme(text: string): string {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return text;
  const hostname = attempt(() => new URL(`https://${text}`))?.hostname ?? "";
  return `${isLoopback(hostname) ? "http" : "https"}://${text}`;
}

/**
 * Normalizes a base URL: removes trailing slashes, appends `/v1` if it has no path. Throws usage for
 * anything else than http and https, for a password or query, and for http to another machine.
 */
export function baseUrlOf(text: string, insecureHttp: boolean): string {
  const url = attempt(() => new URL(text));
  if (!url) throw invalidUrl(text, "not a URL", "use a URL such as https://example.com/v1");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw invalidUrl(text, `unsupported scheme ${url.protocol}`, "use https://");
  }
  if (url.username !== "" || url.password !== "") {
    const hint = `remove it, and store the key with ${commandLine("kb login")}`;
    throw invalidUrl(text, "contains a user name or password", hint);
  }
  if (url.search !== "" || url.hash !== "") {
    throw invalidUrl(text, "contains a query or fragment", "use only the part up to /v1");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !insecureHttp) {
    const problem = "plain HTTP would send the key unencrypted";
    throw invalidUrl(text, problem, "use https://, or pass --insecure-http");
  }
  const path = url.pathname.replace(/(?<!\/)\/+$/, "");
  return `${url.origin}${path === "" ? "/v1" : path}`;
}

const invalidUrl = (text: string, problem: string, hint: string) =>
  usage(`invalid base URL "${withoutUrlSecrets(text)}": ${problem}`, hint);

/** `https://user:password@host` → `https://…`; the same for a query or fragment, which may hold a key. */
const withoutUrlSecrets = (text: string): string =>
  /[@?#]/.test(text) ? text.replace(/^([a-z+.-]*:\/\/)?.*$/is, "$1…") : text;

/** Services whose web console has another host than their API, by origin of the API. */
const consoles: Readonly<Record<string, string>> = {
  "https://api.dify.ai": "https://cloud.dify.ai",
};

/** The address of the web console if none is configured: that of the API without its path. */
export function defaultConsoleUrl(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  return consoles[origin] ?? origin;
}

/**
 * Normalizes the address of a web console: completes a bare host and removes trailing slashes. Throws
 * usage for anything else than http and https, and for a password, query or fragment.
 */
export function consoleUrlOf(text: string): string {
  const url = attempt(() => new URL(withScheme(text)));
  const isPlain = url && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (!url || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw usage(
      `invalid address of the web console: "${withoutUrlSecrets(text)}"`,
      "use a URL such as https://example.com, without a user name, query or fragment",
    );
  }
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`;
}
