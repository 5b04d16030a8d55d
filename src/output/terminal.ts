import { usage } from "../errors.ts";
import type { Host, Output } from "../host/host.ts";
import { isOn, wantsUnicode } from "../lib/environment.ts";

/** The flag `--color`. */
interface ColorFlag {
  readonly color?: string | undefined;
}

/** Whether to use color on a stream: by flag, NO_COLOR, FORCE_COLOR, TERM, then the terminal. */
export function wantsColor(
  flags: ColorFlag,
  host: Host,
  stream: { readonly isTTY: boolean },
): boolean {
  if (flags.color === "always") return true;
  if (flags.color === "never") return false;
  if (flags.color !== undefined && flags.color !== "auto") {
    throw usage(`--color ${JSON.stringify(flags.color)} is not one of always, never, auto`);
  }
  if (host.env["NO_COLOR"]) return false;
  if (isOn(host.env["FORCE_COLOR"]) || isOn(host.env["CLICOLOR_FORCE"])) return true;
  if (host.env["TERM"] === "dumb") return false;
  return stream.isTTY;
}

/** Whether lines may be redrawn: not for screen readers, in logs, and in pipes. */
export const wantsRedraw = ({ env }: Host, { terminal }: Output): boolean =>
  terminal !== undefined &&
  !isOn(env["KB_ACCESSIBLE"]) &&
  !isOn(env["CI"]) &&
  env["TERM"] !== "dumb";

/** How progress is displayed. */
export interface ProgressStyle {
  readonly enabled: boolean;
  /** Text before the first step; undefined if the command only waits, like a server. */
  readonly start: string | undefined;
  /** Whether lines may be redrawn. */
  readonly redraws: boolean;
  readonly color: boolean;
  /** Whether signs may be other than ASCII. */
  readonly unicode: boolean;
}

/** How to display progress on stderr. */
export const progressStyle = (
  flags: ColorFlag,
  host: Host,
  shown: Pick<ProgressStyle, "enabled" | "start">,
): ProgressStyle => ({
  ...shown,
  redraws: wantsRedraw(host, host.stderr),
  color: wantsColor(flags, host, host.stderr),
  unicode: wantsUnicode(host.env),
});

/** The output with another way to write to it. */
export const withWrite = (output: Output, write: Output["write"]): Output => ({
  write,
  get isTTY() {
    return output.isTTY;
  },
  get terminal() {
    return output.terminal;
  },
  get columns() {
    return output.columns;
  },
  get resumeCount() {
    return output.resumeCount ?? 0;
  },
  get closed() {
    return output.closed;
  },
});
