import { consoleSetting, settingsFor } from "../../config/settings.ts";
import { requireBaseUrl } from "../../config/target.ts";
import { reasonOf } from "../../errors.ts";
import type { Host, SpawnOptions } from "../../host/host.ts";
import type { KeyKind } from "../../lib/api-key.ts";
import { shellQuote } from "../../lib/command-line.ts";
import type { Context } from "./command-spec.ts";

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
  const browser = browserFor(url, host);
  if (browser) await notice(`opening ${url}`);
  const problem = browser ? await startBrowser(browser, host) : "no browser found; set BROWSER";
  if (problem === undefined) return;
  await notice(problem);
  yield url;
}

interface Browser {
  readonly command: string;
  readonly args: readonly string[];
  readonly options?: SpawnOptions;
}

/** Starts a browser and waits for it. Returns why that failed, or undefined. */
async function startBrowser(
  { command, args, options }: Browser,
  host: Host,
): Promise<string | undefined> {
  try {
    const exit = await host.spawn(command, args, options).exit;
    return exit === 0 ? undefined : `the browser failed (exit code ${exit})`;
  } catch (error) {
    return `failed to start ${command}: ${reasonOf(error)}`;
  }
}

/**
 * The program for an address: the command in BROWSER, else that of the operating system. Undefined if
 * there is none.
 */
function browserFor(url: string, { env, platform }: Host): Browser | undefined {
  const isWindows = platform.includes("win32");
  const custom = env["BROWSER"];
  if (custom) {
    // A command line, as xdg-open reads it; the address may have a place of its own.
    const quoted = isWindows ? `"${url}"` : shellQuote(url);
    const command = custom.includes("%s")
      ? custom.replaceAll("%s", () => quoted)
      : `${custom} ${quoted}`;
    return { command, args: [], options: { shell: true } };
  }
  // `start` belongs to the shell, which would read & and ^ in an address.
  if (isWindows) return { command: "rundll32", args: ["url.dll,FileProtocolHandler", url] };
  if (platform.includes("darwin")) return { command: "open", args: [url] };
  const hasDisplay = env["DISPLAY"] || env["WAYLAND_DISPLAY"];
  return hasDisplay ? { command: "xdg-open", args: [url] } : undefined;
}
