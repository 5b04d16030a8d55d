import { usage } from "../errors.ts";
import { attempt } from "../lib/attempt.ts";
import { baseUrlOf, withoutUrlSecrets, withScheme } from "./base-url.ts";
import { unset } from "./profiles.ts";
import type { Setting } from "./profiles.ts";
import type { Settings } from "./settings.ts";

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

/** The address of the web console: that of the profile if requests go to the profile's own server. */
export function consoleSetting({ baseUrl, stored }: Pick<Settings, "baseUrl" | "stored">): Setting {
  if (baseUrl.value === undefined) return unset;
  const { baseUrl: own, consoleUrl } = stored ?? {};
  const isOwn = own !== undefined && baseUrlOf(own, true) === baseUrl.value;
  return stored && isOwn && consoleUrl !== undefined
    ? { value: consoleUrlOf(consoleUrl), source: stored.source }
    : { value: defaultConsoleUrl(baseUrl.value), source: "built-in" };
}
