import type { KeyKind } from "../../config/api-key.ts";
import { baseUrlOf } from "../../config/base-url.ts";
import { consoleUrlOf, defaultConsoleUrl } from "../../config/console-url.ts";
import { sandboxProfile } from "../../config/sandbox-profile.ts";
import { settingsFor } from "../../config/settings.ts";
import type { Settings } from "../../config/settings.ts";
import { requireBaseUrl } from "../../config/target.ts";
import type { Context } from "../command-spec.ts";
import { openInBrowser } from "./open-browser.ts";

/** A page of the web console: the parts of its path, not yet encoded. */
export interface ConsolePage {
  readonly kind: KeyKind;
  readonly path: readonly string[];
  /** Prints the address only. */
  readonly print: boolean | undefined;
}

/** Opens a page of the web console; yields its address instead without a terminal or a browser. */
export async function* openPage(
  { kind, path, print }: ConsolePage,
  { host, options, notice }: Context,
): AsyncGenerator<string> {
  const settings = await settingsFor(options.flags, host, { key: kind, run: false });
  const url = [consoleUrl(settings, kind), ...path.map(encodeURIComponent)].join("/");
  if (print || !options.terminal) return yield url;
  if (settings.stored?.name === sandboxProfile) {
    await notice("the sandbox has no web console");
    return yield url;
  }
  await notice(`opening ${url}`);
  const problem = await openInBrowser(url, host);
  if (problem === undefined) return;
  await notice(problem);
  yield url;
}

/** The address of the web console: that of the profile if requests go to the profile's server. */
function consoleUrl(settings: Settings, kind: KeyKind): string {
  const baseUrl = requireBaseUrl(settings, kind);
  const { consoleUrl: stored, baseUrl: own } = settings.stored ?? {};
  const isOwn = own !== undefined && baseUrlOf(own, true) === baseUrl;
  return stored !== undefined && isOwn ? consoleUrlOf(stored) : defaultConsoleUrl(baseUrl);
}
