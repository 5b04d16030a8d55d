import type { Formulas } from "../../lib/formats/csv.ts";
import type { RequestedRows } from "../../commands/task/command-spec.ts";
import { usage } from "../../errors.ts";
import type { ConnectionSettings, Host } from "../../host/host.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { isOn, wantsUnicode } from "../../lib/environment.ts";
import { isFileName } from "../../lib/text.ts";
import type { Returns } from "../../operations/operation.ts";
import type { Style } from "../../output/print/print.ts";
import { formats, formatsOf, wantsColor } from "../../output/style.ts";
import type { TimeStyle } from "../../output/style.ts";
import type { Command } from "./command.ts";
import type { Globals } from "./shared-flags.ts";
import { durationValue, invalidValue } from "./values.ts";

/** The shared flags, checked and completed from the environment. */
export interface Options {
  readonly globals: Globals;
  readonly quiet: boolean;
  /** 0 to 3. */
  readonly verbosity: number;
  /** Are prompts allowed? */
  readonly input: boolean;
  readonly retries: number;
  /** Maximum number of parallel requests; undefined for the default of the command. */
  readonly concurrency: number | undefined;
  /** Milliseconds for the command. */
  readonly timeout: number | undefined;
  /** Milliseconds without data; undefined for the default of the operation. */
  readonly idleTimeout: number | undefined;
  readonly connection: ConnectionSettings;
}

/** Checks the shared flags. Throws usage. */
export function optionsFor(globals: Globals, host: Host): Options {
  const env = (name: string): string | undefined => host.env[name] || undefined;
  const timeout = globals.timeout ?? env("KB_TIMEOUT");
  const given = <T>(text: string | undefined, read: (text: string) => T) =>
    text === undefined ? undefined : read(text);
  return {
    globals,
    quiet: globals.quiet ?? false,
    verbosity: Math.max(globals.verbose?.length ?? 0, debugLevel(env("KB_DEBUG"))),
    get input() {
      return (
        globals.mayPrompt !== false &&
        !isOn(env("KB_NO_INPUT")) &&
        !isOn(env("CI")) &&
        host.stderr.isTTY &&
        host.stdin.isTTY // last, because this opens it
      );
    },
    retries: wholeNumber(
      globals.retries === undefined ? "KB_RETRIES" : "--retries",
      globals.retries ?? env("KB_RETRIES") ?? "3",
      0,
      100,
    ),
    concurrency: given(globals.concurrency, (text) => wholeNumber("--concurrency", text, 1, 50)),
    timeout: given(timeout, (text) =>
      durationValue(globals.timeout === undefined ? "KB_TIMEOUT" : "--timeout", text),
    ),
    idleTimeout: given(globals.idleTimeout, (text) => durationValue("--idle-timeout", text)),
    connection: {
      connectTimeout: durationValue("--connect-timeout", globals.connectTimeout ?? "10s"),
      caFile: globals.caFile,
    },
  };
}

/** Verbosity of KB_DEBUG: a number, or 1 for other values that are not "off". */
function debugLevel(text: string | undefined): number {
  const level = Number(text ?? 0);
  if (Number.isFinite(level)) return level;
  return isOn(text) ? 1 : 0;
}

/** A whole number in a range. Throws usage. */
export function wholeNumber(label: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw invalidValue(label, text, `is not a whole number from ${min} to ${max}`);
  }
  return value;
}

/** The style of the output; the format of the settings is used if the command supports it. Throws usage. */
export function styleFor(
  globals: Globals,
  host: Host,
  returns: Returns<never>,
  { output, formulas }: { readonly output: string | undefined; readonly formulas?: Formulas },
): Style {
  const format = formatFor(globals, output, returns);
  // The default format of a pipe is not meant for spreadsheets.
  const guards = format !== undefined || globals.safeCells;
  return {
    format,
    ...(globals.columns !== undefined && columnsIn(globals.columns)),
    headers: globals.headers ?? true,
    ...(guards && formulas && { spreadsheetCell: formulas.cell }),
    ...(globals.sort !== undefined && { sort: globals.sort }),
    reverse: globals.reverse ?? false,
    ...(globals.jq !== undefined && { jq: globals.jq }),
    ...timeStyleFor(globals, host),
    color: wantsColor(globals, host, host.stdout),
    accessible: isOn(host.env["KB_ACCESSIBLE"]),
    unicode: wantsUnicode(host.env),
  };
}

/** `a,b` are all columns, `+a,+b` those after the default ones. */
function columnsIn(text: string): Pick<Style, "columns" | "addsColumns"> {
  const parts = text.split(",").map((part) => part.trim());
  const columns = parts.map((part) => part.replace(/^\+/, ""));
  return { columns, addsColumns: parts.some((part) => part.startsWith("+")) };
}

/** How times are displayed. */
export function timeStyleFor(globals: Globals, host: Host): TimeStyle {
  const timeZone = host.env["TZ"] || undefined;
  return { times: timesOf(globals), ...(timeZone && { timeZone }), now: () => host.now() };
}

function timesOf({ relative, utc }: Globals): TimeStyle["times"] {
  if (relative) return "relative";
  return utc ? "utc" : "local";
}

/** What other programs call the output for people. */
const gridWords = ["text", "pretty", "plain", "human"];

/** The output format; undefined for the default. Throws usage for one that the command lacks. */
function formatFor(
  { json, jq, output }: Globals,
  setting: string | undefined,
  returns: Returns<never>,
): Style["format"] {
  const typed = json ? "json" : output?.toLowerCase().replace(/^table$/, "grid");
  const requested = typed ?? setting;
  const offered = formatsOf(returns);
  const format = offered.find((candidate) => candidate === requested);
  // A format of the settings is ignored by commands that lack it.
  const isIgnored = typed === undefined && formats.some((candidate) => candidate === requested);
  if (requested !== undefined && format === undefined && !isIgnored) {
    const near = didYouMean(requested, offered);
    const isGrid = gridWords.includes(requested) && offered.includes("grid");
    const isTemplate = /^(jsonpath|go-template|custom-columns|template)/.test(requested);
    const isFile = !isTemplate && isFileName(requested);
    const fields = isTemplate ? "fields are chosen by --columns or --jq" : undefined;
    const meant = isFile ? `-o is the format; to a file: > ${requested}` : fields;
    throw usage(
      `--output ${JSON.stringify(requested)} is not one of ${offered.join(", ")}`,
      isGrid
        ? "did you mean grid? A terminal gets it without -o"
        : (meant ?? (near && `did you mean ${near}?`)),
    );
  }
  if (jq !== undefined && output !== undefined && !/^jsonl?$/.test(output)) {
    throw usage(
      `--jq outputs JSON and cannot be combined with -o ${output}`,
      "use @csv or @tsv in the jq expression",
    );
  }
  return format;
}

/** IANA name of the time zone of the output; the system's zone if TZ is not one. */
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

/** Default number of rows: the default page size of the server. */
const DEFAULT_ROWS = 20;

/** The rows that --all, --limit and --page request; all, if --sort or --reverse has to compare them. Throws usage. */
export function rowLimits(command: Command, globals: Globals): RequestedRows {
  const rows = requestedRows(command, globals);
  const isOrdered = globals.sort !== undefined || globals.reverse;
  if (!isOrdered || rows.limit === Infinity) return rows;
  return { limit: Infinity, byDefault: rows.byDefault, shown: rows };
}

function requestedRows({ returns }: Command, { limit, all, page }: Globals): RequestedRows {
  if (all && (limit !== undefined || page !== undefined)) {
    throw usage("--all cannot be used with --limit or --page");
  }
  const number = page === undefined ? undefined : wholeNumber("--page", page, 1, 99_999);
  if (all) return { limit: Infinity, byDefault: false };
  if (limit !== undefined)
    return {
      limit: wholeNumber("--limit", limit, 1, 1_000_000_000),
      page: number,
      byDefault: false,
    };
  return {
    limit: returns.kind === "list" ? Infinity : DEFAULT_ROWS,
    page: number,
    byDefault: true,
  };
}

/** Why output waits for the last row, if it does: a flag, or a format of the settings. */
export function bufferingReason(
  { sort, reverse }: Globals,
  format: string | undefined,
  source: string,
): string | undefined {
  if (sort !== undefined) return "--sort";
  if (reverse) return "--reverse";
  if (format !== "md" && format !== "yaml") return undefined;
  return source === "-o" ? `-o ${format}` : `the output format ${format} (${source})`;
}
