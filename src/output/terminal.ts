import { usage } from "../errors.ts";
import type { Host, Output } from "../host/host.ts";
import { isOn, wantsUnicode } from "../lib/environment.ts";
import { own } from "../lib/json.ts";
import type { Returns } from "../operations/operation.ts";
import type { Colors } from "./display-width.ts";

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

/** Values of `--output` for rows, objects and events. */
export const formats = [
  "grid",
  "wide",
  "tsv",
  "csv",
  "md",
  "json",
  "jsonl",
  "yaml",
  "name",
] as const;

export type Format = (typeof formats)[number] | "html";

/** Formats of reports, which have no IDs; `wide` shows all tables. */
const reportFormats = ["grid", "wide", "tsv", "csv", "md", "json", "jsonl", "yaml"] as const;

/** Output formats of a result; all formats if the result is unknown. */
export function formatsOf(returns: Returns<never> | undefined): readonly Format[] {
  if (returns === undefined) return [...formats, "html"];
  if (returns.kind === "list" && returns.html) return [...formats, "html"];
  if (returns.kind !== "report") return formats;
  return returns.repeats ? reportFormats : [...reportFormats, "html"];
}

/** A format under its own name, which `table` is not. */
export const formatNamed = (name: string): string => (name === "table" ? "grid" : name);

/** Formats of other programs, with the format to use instead. */
export const formatsElsewhere: Readonly<Record<string, Format>> = { text: "tsv", plain: "tsv" };

/** Colors of words, whose meaning the words have without them as well. */
export type ColorName = Extract<keyof Colors, "green" | "red" | "yellow">;

/** Statuses, results and actions, in every list, sheet and view. Other words have no color. */
const words: Readonly<Record<string, ColorName>> = {
  succeeded: "green",
  passed: "green",
  completed: "green",
  available: "green",
  active: "green",
  ok: "green",
  yes: "green",
  create: "green",
  created: "green",
  written: "green",
  bind: "green",
  "partial-succeeded": "yellow",
  paused: "yellow",
  warning: "yellow",
  update: "yellow",
  change: "yellow",
  switch: "yellow",
  left: "yellow",
  skip: "yellow",
  skipped: "yellow",
  unknown: "yellow",
  failed: "red",
  stopped: "red",
  exception: "red",
  error: "red",
  delete: "red",
  removed: "red",
  no: "yellow",
  unbind: "red",
  problem: "red",
};

/** Color of a word; none for those that are neither good nor bad. */
export const colorOfStatus = (word: string): ColorName | undefined => own(words, word);

/** Columns whose words are colored. */
const wordColumns = new Set([
  "action",
  "display_status",
  "indexing_status",
  "job_status",
  "result",
  "severity",
  "status",
]);
/** Old and new values of a difference. */
const sides: Readonly<Record<string, ColorName>> = { from: "red", to: "green" };

/** How the values of a column are colored; undefined if they are not. */
export function columnColor(
  label: string,
): ((value: unknown) => ColorName | undefined) | undefined {
  const name = label.slice(label.lastIndexOf(".") + 1);
  if (wordColumns.has(name)) return (value) => colorOfStatus(String(value));
  const side = own(sides, label);
  return side && ((value) => (value == null ? undefined : side));
}
