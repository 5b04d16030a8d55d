import { usage } from "../errors.ts";

/** The proxies of the environment. The URLs may contain passwords. */
export interface Proxies {
  /** Proxy for http, and for https if that has none of its own. */
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that are reached directly, separated by commas. */
  readonly noProxy: string;
}

/**
 * Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in lower case first, as curl does; undefined without a
 * proxy. Throws usage for an invalid URL, without quoting it.
 */
export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || "";
  const httpProxy = proxyUrl("HTTP_PROXY", read("HTTP_PROXY"));
  const httpsProxy = proxyUrl("HTTPS_PROXY", read("HTTPS_PROXY"));
  if (httpProxy === "" && httpsProxy === "") return undefined;
  return {
    httpProxy,
    httpsProxy,
    noProxy: read("NO_PROXY")
      .split(/[,\s]+/)
      .map(withBrackets)
      .join(),
  };
}

/** `proxy.example:3128` → `http://proxy.example:3128`, as most programs read it. */
function proxyUrl(name: string, text: string): string {
  if (text === "") return "";
  const url = text.includes("://") ? text : `http://${text}`;
  try {
    const { protocol, username, password } = new URL(url);
    decodeURIComponent(username + password); // undici would throw
    if (/^https?:$/.test(protocol)) return url;
  } catch {
    // reported below
  }
  throw usage(
    `${name} is not a valid proxy URL`,
    "use http://proxy.example:3128 or http://name:password@proxy.example:3128; write special characters of a password as %40",
  );
}

/** An IPv6 address in brackets, as in a URL: otherwise undici would take its end for a port. */
const withBrackets = (host: string) =>
  /^[\da-f]*:[\da-f]*:[\da-f:.]*$/i.test(host) ? `[${host}]` : host;
