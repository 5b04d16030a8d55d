import { CliError } from "../errors.ts";

/** Is the host this machine itself? */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  /^127(\.\d{1,3}){3}$/.test(hostname) ||
  hostname.endsWith(".localhost");

/**
 * The base URL as requests use it: without trailing slashes, with `/v1` where no path was given.
 * Throws usage for what is no URL, holds a password or query, or is plain http beyond this machine.
 */
export function baseUrlOf(text: string, insecureHttp: boolean): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refusedUrl(text, "is no URL", "it looks like https://example.com/v1");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw refusedUrl(text, `has the scheme ${url.protocol}`, "it begins with https://");
  }
  if (url.username !== "" || url.password !== "") {
    throw refusedUrl(text, "holds a name or password", "give the key with `kb profile add`");
  }
  if (url.search !== "" || url.hash !== "") {
    throw refusedUrl(text, "holds a query", "it ends in /v1");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !insecureHttp) {
    throw refusedUrl(text, "would send the key unencrypted", "use https, or --insecure-http");
  }
  const path = url.pathname.replace(/(?<!\/)\/+$/, "");
  return `${url.origin}${path === "" ? "/v1" : path}`;
}

const refusedUrl = (text: string, problem: string, hint: string) =>
  new CliError("usage", `the base URL "${shown(text)}" ${problem}`, { hint, sideEffect: "none" });

/** What may hold a password, a token or a key is not quoted. */
const shown = (text: string): string =>
  /[@?#]/.test(text) ? text.replace(/^([a-z+.-]*:\/\/)?.*$/is, "$1…") : text;
