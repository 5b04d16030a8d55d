import { CliError } from "../errors.ts";
import type { Host, Output } from "../host/host.ts";
import { isOn } from "../lib/env-flag.ts";
import type { ProgressStyle } from "./live/progress.ts";

/** The flag `--color`. */
interface ColorFlag {
  readonly color?: string | undefined;
}

/** Is colour wanted on this stream? Flag, NO_COLOR, FORCE_COLOR, TERM, then the terminal itself. */
export function wantsColor(
  flags: ColorFlag,
  host: Host,
  stream: { readonly isTTY: boolean },
): boolean {
  if (flags.color === "always") return true;
  if (flags.color === "never") return false;
  if (flags.color !== undefined && flags.color !== "auto") {
    throw new CliError(
      "usage",
      `--color ${JSON.stringify(flags.color)} is not one of always, never, auto`,
    );
  }
  if (host.env["NO_COLOR"]) return false;
  if (isOn(host.env["FORCE_COLOR"]) || isOn(host.env["CLICOLOR_FORCE"])) return true;
  if (host.env["TERM"] === "dumb") return false;
  return stream.isTTY;
}

/** May lines be redrawn? Not where each line is to be read once: aloud, in a log, on no terminal. */
export const wantsRedraw = ({ env }: Host, { terminal }: Output): boolean =>
  terminal !== undefined &&
  !isOn(env["KB_ACCESSIBLE"]) &&
  !isOn(env["CI"]) &&
  env["TERM"] !== "dumb";

/** How progress is to be shown on standard error. */
export const progressStyle = (flags: ColorFlag, host: Host, wanted: boolean): ProgressStyle => ({
  wanted,
  redraws: wantsRedraw(host, host.stderr),
  color: wantsColor(flags, host, host.stderr),
});

/**
 * May charts and lines be drawn with more than ASCII? Not where the locale has another character
 * set, on a console without the signs, or where plain output was asked for.
 */
export function wantsUnicode({ env }: Host): boolean {
  if (isOn(env["KB_ACCESSIBLE"]) || env["TERM"] === "dumb" || env["TERM"] === "linux") return false;
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  return !locale || /utf-?8/i.test(locale);
}
