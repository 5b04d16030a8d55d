import { CliError } from "../errors.ts";
import type { Host } from "../host.ts";
import type { Globals } from "./globals.ts";

/** Is a switch of the environment on? Empty, 0 and false are off. */
export const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false";

/** Is colour wanted on this stream? Flag, NO_COLOR, FORCE_COLOR, TERM, then the terminal itself. */
export function wantsColor(
  globals: Globals,
  host: Host,
  stream: { readonly isTTY: boolean },
): boolean {
  if (globals.color === "always") return true;
  if (globals.color === "never") return false;
  if (globals.color !== undefined && globals.color !== "auto") {
    throw new CliError(
      "usage",
      `--color ${JSON.stringify(globals.color)} is not one of always, never, auto`,
    );
  }
  if (host.env["NO_COLOR"]) return false;
  if (isOn(host.env["FORCE_COLOR"]) || isOn(host.env["CLICOLOR_FORCE"])) return true;
  if (host.env["TERM"] === "dumb") return false;
  return stream.isTTY;
}

/** May lines be redrawn? Not where each line is to be read once: aloud, in a log, on no terminal. */
export const wantsRedraw = ({ env, stdout }: Host): boolean =>
  stdout.terminal !== undefined &&
  !isOn(env["KB_ACCESSIBLE"]) &&
  !isOn(env["CI"]) &&
  env["TERM"] !== "dumb";

/**
 * May charts and lines be drawn with more than ASCII? Not where the locale has another character
 * set, on a console without the signs, or where plain output was asked for.
 */
export function wantsUnicode({ env }: Host): boolean {
  if (isOn(env["KB_ACCESSIBLE"]) || env["TERM"] === "dumb" || env["TERM"] === "linux") return false;
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  return !locale || /utf-?8/i.test(locale);
}
