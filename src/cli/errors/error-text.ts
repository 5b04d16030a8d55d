import {
  CliError,
  codeOf,
  diskProblem,
  errorJson,
  internalError,
  isUncreatable,
  stoppedByUser,
} from "../../errors.ts";
import { causesOf } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { wrapMessage } from "../../output/table/text-lines.ts";

/** How errors are printed. */
export interface ErrorStyle {
  readonly json: boolean;
  readonly color: boolean;
  /** 3 (-vvv) prints stacks. */
  readonly verbosity: number;
  /** Width of the terminal; Infinity elsewhere, so that lines stay whole. */
  readonly columns: number;
  /** Escapes control characters and line ends, so that server text cannot fake a hint. */
  readonly visible: (text: string) => string;
  /** The same for JSON. */
  readonly escaped: (json: string) => string;
}

/** Converts anything thrown to a CliError. `directories` are those of the program itself. */
export const toCliError = (error: unknown, directories: readonly string[] = []): CliError =>
  error instanceof CliError
    ? error
    : (fileError(error, directories) ?? sizeError(error) ?? internalError(error));

/** An error of the file system, such as a full disk. */
function fileError(error: unknown, directories: readonly string[]): CliError | undefined {
  const problem = diskProblem(error);
  if (!problem || !(error instanceof Error) || !("path" in error)) return undefined;
  // Missing files are handled where they are read, so one here is a bug.
  if (codeOf(error) === "ENOENT" && !isUncreatable(error)) return undefined;
  const path = String(error.path);
  const isOwn = directories.some((directory) => path.startsWith(directory));
  return new CliError(problem.kind, `${path}: ${problem.reason}`, {
    cause: error,
    hint: isOwn
      ? "set KB_CONFIG_DIR, KB_STATE_DIR, KB_DATA_DIR or KB_CACHE_DIR to use another directory"
      : undefined,
  });
}

/** JSON can be nested deeper than the call stack, and a text be longer than the memory. */
function sizeError(error: unknown): CliError | undefined {
  const text = error instanceof Error ? error.message : "";
  if (error instanceof RangeError && text.includes("call stack")) {
    return new CliError("failure", "response is nested too deeply to display", {
      cause: error,
      hint: "the request succeeded; only its response cannot be displayed",
    });
  }
  return /allocation failed|string longer than|Invalid string length/.test(text)
    ? new CliError("failure", "out of memory", { cause: error })
    : undefined;
}

/** The text for stderr: a few lines for people, or one JSON line. */
export const errorText = (error: CliError, style: ErrorStyle): string =>
  style.json ? `${style.escaped(JSON.stringify(errorJson(error)))}\n` : plainText(error, style);

const sideEffects = {
  none: "no changes were made",
  unknown: "the change may have been applied",
  applied: "some changes were made",
} as const;

/** A paused run is a state to act on, not a failure. */
const labelOf = ({ kind }: CliError) => (kind === "paused" ? "paused:" : "error:");

function labeled(error: CliError, text: string, color: boolean): string {
  if (!color) return text;
  const label = labelOf(error);
  return `\u001b[${error.kind === "paused" ? 33 : 31}m${label}\u001b[39m${text.slice(label.length)}`;
}

function plainText(error: CliError, { color, verbosity, visible, columns }: ErrorStyle): string {
  const { hint, sideEffect, effect, details, code } = error.info;
  const wrapped = (text: string) => wrapMessage(visible(text), columns);
  // as the user wanted
  if (code === "declined" || code === stoppedByUser) return `${wrapped(error.message)}\n`;
  const lines = [labeled(error, wrapped(`${labelOf(error)} ${error.message}`), color)];
  lines.push(...candidateLines(details).map(visible));
  // No side effect is the default, and the hint may state it already.
  if (sideEffect !== undefined && sideEffect !== "none" && !hint?.includes(sideEffects[sideEffect]))
    lines.push(effect ?? sideEffects[sideEffect]);
  if (hint !== undefined) lines.push(wrapped(`hint: ${hint}`));
  if (verbosity >= 3) lines.push(...causesOf(error).map(visible));
  return `${lines.join("\n")}\n`;
}

/** A table of the objects that an ambiguous name matches, or the other mistakes of a file. */
function candidateLines(details: unknown): string[] {
  const { candidates, mistakes } = isObject(details) ? details : {};
  if (Array.isArray(mistakes)) return mistakes.slice(1).map((mistake) => `  ${String(mistake)}`);
  if (!Array.isArray(candidates)) return [];
  return candidates
    .filter(isObject)
    .map((candidate) => `  ${Object.values(candidate).map(String).join("  ")}`);
}
