import { CliError } from "../errors.ts";

/** What the environment says about proxies; empty where it says nothing. Addresses may hold passwords. */
export interface Proxies {
  /** Address of the proxy for http, and for https where that has none of its own. */
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that are reached without one, with commas between. */
  readonly noProxy: string;
}

/**
 * Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in small letters first, as curl does; undefined without
 * a proxy. Throws usage for what is no address, which is never shown.
 */
export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || "";
  const httpProxy = addressOf("HTTP_PROXY", read("HTTP_PROXY"));
  const httpsProxy = addressOf("HTTPS_PROXY", read("HTTPS_PROXY"));
  if (httpProxy === "" && httpsProxy === "") return undefined;
  return {
    httpProxy,
    httpsProxy,
    noProxy: read("NO_PROXY")
      .split(/[,\s]+/)
      .map(inUrl)
      .join(),
  };
}

/** `proxy.example:3128` is what most programs take as well. */
function addressOf(name: string, text: string): string {
  if (text === "") return "";
  const address = text.includes("://") ? text : `http://${text}`;
  try {
    const { protocol, username, password } = new URL(address);
    decodeURIComponent(username + password); // or undici would stumble
    if (/^https?:$/.test(protocol)) return address;
  } catch {
    // falls through to the same refusal
  }
  throw new CliError("usage", `${name} is no address of an HTTP proxy`, {
    sideEffect: "none",
    hint: "it looks like http://proxy.example:3128 or http://name:password@proxy.example:3128; write special characters of a password as %40",
  });
}

/** An IPv6 address as it stands in a URL: without brackets its end would be taken for a port. */
const inUrl = (host: string) => (/^[\da-f]*:[\da-f]*:[\da-f:.]*$/i.test(host) ? `[${host}]` : host);
