import { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { isOn } from "../../lib/env-flag.ts";
import type { ConnectionSettings } from "../../host/host.ts";
import type { Returns } from "../../operations/operation.ts";
import { formats, formatsOf } from "../../output/formats-list.ts";
import type { Style } from "../../output/print.ts";
import type { Formulas } from "../../commands/command-spec.ts";
import type { Globals } from "./shared-flags.ts";
import { wantsColor, wantsUnicode } from "../../output/terminal.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { durationValue, invalidValue } from "./values.ts";

/** The shared flags, checked, with the environment behind them. */
export interface Options {
  readonly globals: Globals;
  readonly quiet: boolean;
  /** 0 to 3. */
  readonly verbosity: number;
  /** May questions be asked? */
  readonly input: boolean;
  readonly retries: number;
  /** ms; the whole command. */
  readonly timeout: number | undefined;
  /** ms without a byte; absent: what the row says. */
  readonly idleTimeout: number | undefined;
  readonly connection: ConnectionSettings;
}

/** Checks the shared flags. Throws usage. */
export function optionsFor(globals: Globals, host: Host): Options {
  const env = (name: string): string | undefined => host.env[name] || undefined;
  const debug = Number(env("KB_DEBUG") ?? 0);
  const timeout = globals.timeout ?? env("KB_TIMEOUT");
  return {
    globals,
    quiet: globals.quiet ?? false,
    verbosity: Math.max(
      globals.verbose?.length ?? 0,
      Number.isFinite(debug) ? debug : isOn(env("KB_DEBUG")) ? 1 : 0,
    ),
    get input() {
      return (
        globals.mayAsk !== false &&
        !isOn(env("KB_NO_INPUT")) &&
        !isOn(env("CI")) &&
        host.stdin.isTTY &&
        host.stderr.isTTY
      );
    },
    retries: count(
      globals.retries === undefined ? "KB_RETRIES" : "--retries",
      globals.retries ?? env("KB_RETRIES") ?? "3",
      0,
      100,
    ),
    timeout:
      timeout === undefined
        ? undefined
        : durationValue(globals.timeout === undefined ? "KB_TIMEOUT" : "--timeout", timeout),
    idleTimeout:
      globals.idleTimeout === undefined
        ? undefined
        : durationValue("--idle-timeout", globals.idleTimeout),
    connection: {
      connectTimeout: durationValue("--connect-timeout", globals.connectTimeout ?? "10s"),
      caFile: globals.caFile,
    },
  };
}

/** A whole number between two. Throws usage. */
export function count(label: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw invalidValue(label, text, `is not a whole number from ${least} to ${most}`);
  }
  return value;
}

/**
 * How an answer is to be printed. `output` is the format the settings name; it holds where the
 * command has it. Throws usage.
 */
export function styleFor(
  globals: Globals,
  host: Host,
  output: string | undefined,
  returns: Returns<never>,
  formulas?: Formulas,
): Style {
  const asked = globals.json ? "json" : globals.output;
  const format = asked ?? output;
  const offered = formatsOf(returns);
  const known = offered.find((candidate) => candidate === format);
  const isUsual = formats.some((candidate) => candidate === format);
  if (format !== undefined && known === undefined && (asked !== undefined || !isUsual)) {
    const near = didYouMean(format, offered);
    throw new CliError(
      "usage",
      `--output ${JSON.stringify(format)} is not one of ${offered.join(", ")}`,
      {
        sideEffect: "none",
        hint: near === undefined ? undefined : `did you mean ${near}?`,
      },
    );
  }
  if (
    globals.jq !== undefined &&
    globals.output !== undefined &&
    !/^jsonl?$/.test(globals.output)
  ) {
    throw new CliError("usage", `--jq gives JSON, not ${globals.output}`, {
      sideEffect: "none",
      hint: "@csv and @tsv are part of jq's own language",
    });
  }
  // Nobody opens what a pipe gets by itself in a spreadsheet.
  const guards = known !== undefined || globals.safeCells;
  const zone = host.env["TZ"] || undefined;
  return {
    format: known,
    ...(globals.columns !== undefined && {
      columns: globals.columns.split(",").map((part) => part.trim()),
    }),
    headers: globals.headers ?? true,
    ...(guards && formulas && { spreadsheetCell: formulas.cell }),
    ...(globals.sort !== undefined && { sort: globals.sort }),
    reverse: globals.reverse ?? false,
    ...(globals.jq !== undefined && { jq: globals.jq }),
    times: globals.relative ? "relative" : globals.utc ? "utc" : "local",
    ...(zone !== undefined && { timeZone: zone }),
    color: wantsColor(globals, host, host.stdout),
    accessible: isOn(host.env["KB_ACCESSIBLE"]),
    unicode: wantsUnicode(host),
    now: () => host.now(),
  };
}

/** IANA name of the zone in which times are shown; what TZ holds beside names the system understands. */
export function timeZoneFor(globals: Globals, host: Host): string {
  const named = globals.utc ? "UTC" : host.env["TZ"] || undefined;
  const format = (timeZone?: string) =>
    new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;
  try {
    return format(named);
  } catch {
    return format();
  }
}
