import type { KeyKind } from "../../config/api-key.ts";
import { consoleSetting } from "../../config/console-url.ts";
import { sandboxProfile } from "../../config/sandbox-profile.ts";
import { settingsFor } from "../../config/settings.ts";
import { requireBaseUrl } from "../../config/target.ts";
import type { Context } from "../command-spec.ts";
import { browserFor, startBrowser } from "./open-browser.ts";

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
  requireBaseUrl(settings, kind);
  const { value: start = "" } = consoleSetting(settings);
  const url = [start, ...path.map(encodeURIComponent)].join("/");
  if (print || !options.terminal) return yield url;
  if (settings.stored?.name === sandboxProfile) {
    await notice("the sandbox has no web console");
    return yield url;
  }
  const browser = browserFor(url, host);
  if (browser) await notice(`opening ${url}`);
  const problem = browser ? await startBrowser(browser, host) : "no browser found; set BROWSER";
  if (problem === undefined) return;
  await notice(problem);
  yield url;
}
