import { fieldLine } from "../../api/error-body.ts";
import {
  CliError,
  codeOf,
  diskProblem,
  errorJson,
  internalError,
  isUncreatable,
  stoppedByUser,
  causesOf,
} from "../../errors.ts";
import { groupBy } from "../../lib/collect.ts";
import { isObject, stringifyJson, valueAt } from "../../lib/json.ts";
import type { Host } from "../../host/host.ts";
import { escapeControls, visible, wrapMessage } from "../../output/display-width.ts";
import { wantsColor } from "../../output/style.ts";
import { sharedFlags, sharedFlagsOf } from "../parse/shared-flags.ts";
import type { Globals, SharedFlag } from "../parse/shared-flags.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { mapCommands } from "../../lib/command-line.ts";
import { commandsOf } from "../parse/command-list.ts";
import { startsWith, type Command } from "../parse/command.ts";

interface ErrorStyle {
  readonly json: boolean;
  readonly color: boolean;
  /** 3 (-vvv) prints stacks. */
  readonly verbosity: number;
  /** Width of the terminal; Infinity elsewhere, so that lines stay whole. */
  readonly columns: number;
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
  style.json ? `${escapeControls(stringifyJson(errorJson(error)))}\n` : plainText(error, style);

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

function plainText(error: CliError, { color, verbosity, columns }: ErrorStyle): string {
  const { hint, sideEffect, effect, details, code } = error.info;
  // Without control characters and line ends, so that text of a server cannot fake a hint.
  const shown = (text: string) => visible(text);
  const wrapped = (text: string) => wrapMessage(shown(text), columns);
  // as the user wanted
  if (code === "declined" || code === stoppedByUser) return `${wrapped(error.message)}\n`;
  const [message, ...fields] = messageLines(error);
  const lines = [labeled(error, wrapped(`${labelOf(error)} ${message}`), color)];
  lines.push(...[...fields, ...candidateLines(details)].map(shown));
  // No side effect is the default, and the hint may state it already.
  if (sideEffect !== undefined && sideEffect !== "none" && !hint?.includes(sideEffects[sideEffect]))
    lines.push(...[effect ?? sideEffects[sideEffect]].filter((text) => text !== ""));
  if (hint !== undefined) lines.push(wrapped(`hint: ${hint}`));
  if (verbosity >= 3) lines.push(...causesOf(error).map(shown));
  return `${lines.join("\n")}\n`;
}

/** The message, with each of several invalid fields on a line of its own. */
function messageLines({ message, info: { details } }: CliError): readonly string[] {
  const fields = valueAt(details, "fields");
  const texts = Array.isArray(fields) ? fields.map(fieldLine) : [];
  const [before, after] = texts.length > 1 ? message.split(texts.join("; ")) : [];
  if (after === undefined) return [message];
  return [`${before}${texts.length} invalid fields${after}`, ...texts.map((text) => `  ${text}`)];
}

/** A table of the objects that an ambiguous name matches, or the other mistakes of a file. */
function candidateLines(details: unknown): string[] {
  const { candidates, mistakes, rows } = isObject(details) ? details : {};
  if (Array.isArray(mistakes)) return mistakes.slice(1).map((mistake) => `  ${String(mistake)}`);
  if (Array.isArray(rows)) {
    // The message has the first one.
    const same = groupBy(rows.filter(isObject), ({ message }) => message);
    return [...same.values()].slice(1, MAX_ROWS).map(rowMistake);
  }
  if (!Array.isArray(candidates)) return [];
  return candidates
    .filter(isObject)
    .map((candidate) => `  ${Object.values(candidate).map(String).join("  ")}`);
}

/** The first row with a mistake, and how many more of those in `details` have the same. */
function rowMistake([first, ...others]: readonly Record<string, unknown>[]): string {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `  row ${String(first?.["row"])}: ${String(first?.["message"])}${more}`;
}

/** Different mistakes that are printed: `details` has more. */
const MAX_ROWS = 10;

interface FailedLine {
  readonly argv: readonly string[];
  /** Empty if the line cannot be parsed. */
  readonly globals: Globals;
}

/** Prints an error to stderr, as text or as one JSON line. */
export async function printError(
  failure: CliError,
  line: FailedLine,
  log: RequestLog,
  host: Host,
): Promise<void> {
  // A command that ran another program exits with its code and prints no error.
  if (failure.message === "") return;
  await host.stderr.write(errorText(failure, errorStyle(line, log, host)));
}

/** The style of errors, also for a command line that cannot be parsed. */
function errorStyle({ argv, globals }: FailedLine, { output }: RequestLog, host: Host): ErrorStyle {
  const format = globals.output ?? (globals.json ? "json" : undefined);
  const typed = argv.some(
    (word, index) =>
      word === "--json" ||
      /^(-o|--output=?)jsonl?$/.test(word) ||
      (/^(-o|--output)$/.test(word) && /^jsonl?$/.test(argv[index + 1] ?? "")),
  );
  const chosen = format ?? output ?? (host.env["KB_OUTPUT"] || undefined);
  const debug = Number(host.env["KB_DEBUG"] ?? 0);
  const letters = argv.filter((word) => /^-v+$/.test(word)).join("");
  let color = false;
  try {
    color = wantsColor(globals, host, host.stderr);
  } catch {
    // an invalid --color is the error to print
  }
  return {
    json:
      host.env["KB_ERROR_FORMAT"] === "json" ||
      // Results as JSON are for programs; errors on a terminal are for people still.
      (!host.stderr.isTTY &&
        (chosen === "json" ||
          chosen === "jsonl" ||
          globals.jq !== undefined ||
          (format === undefined && typed))),
    color,
    columns: host.stderr.columns,
    verbosity: Math.max(debug || 0, letters.replaceAll("-", "").length),
  };
}

/** What the commands of hints take over from the current command line. */
export interface LineScope {
  readonly globals: Globals;
  /** Names as entered, by the IDs that they were resolved to. */
  readonly names: ReadonlyMap<string, string>;
}

/** Flags that select the server, the key and the end user: without them a command may find nothing. */
const scopeFlags = ["profile", "app", "baseUrl", "insecureHttp", "caFile", "user"] as const;

/** The scope flags of a command line that could not be parsed. */
export function scopeIn(argv: readonly string[]): Globals {
  const end = argv.indexOf("--");
  const words = end < 0 ? argv : argv.slice(0, end);
  const found = scopeFlags.flatMap((key) => {
    const flag = sharedFlags.find((each) => each.key === key);
    const value = flag && valueOf(flag, words);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(found) as Globals; // keys and kinds of the shared flags
}

/** The value of a flag: `-p NAME`, `--profile NAME` or `--profile=NAME`; true for one without a value. */
function valueOf({ long, short, value }: SharedFlag, words: readonly string[]) {
  const at = words.findIndex((word) => word === long || word === short);
  if (at >= 0) return value === undefined ? true : words[at + 1];
  return words.find((word) => word.startsWith(`${long}=`))?.slice(long.length + 1);
}

/** Commands that set up what the flags select, or run without it. */
const withoutScope: readonly (string | undefined)[] = [
  "profile",
  "login",
  "help",
  "sandbox",
  "completion",
];

/**
 * Makes the commands in a hint or notice work where the current line did: adds its `-p`, `--app`,
 * `--base-url` and the like where a command takes them, and shows IDs as the names that were entered.
 */
export async function inScope(text: string, { globals, names }: LineScope): Promise<string> {
  const flags = scopeFlags.filter((key) => globals[key] !== undefined);
  const programs = (["kb", "wf"] as const).filter((program) => text.includes(`\`${program} `));
  if (programs.length === 0 || (flags.length === 0 && names.size === 0)) return text;
  const lists =
    flags.length === 0 ? [] : await Promise.all(programs.map((program) => commandsOf(program)));
  const commands = lists.flat();
  return mapCommands(text, (words) => {
    const isNamed = words.some((word) => entered(word, names) !== word);
    const named = isNamed ? words.map((word) => entered(word, names)) : words;
    const command = commandNamed(words, commands);
    if (command === undefined || withoutScope.includes(words[1])) return named;
    const missing = missingFlags(command, named, globals);
    if (missing.length === 0) return named;
    const at = named.includes("--") ? named.indexOf("--") : named.length;
    return [...named.slice(0, at), ...missing, ...named.slice(at)];
  });
}

/** The same error with its hint in the scope of the line. */
export async function withScope(error: CliError, scope: LineScope): Promise<CliError> {
  const { hint } = error.info;
  return hint === undefined ? error : error.with({ hint: await inScope(hint, scope) });
}

/** `id:91e8…` or the ID itself as the name that was entered. */
function entered(word: string, names: LineScope["names"]): string {
  const name = names.get(word.replace(/^id:/, ""));
  return name === undefined || name.startsWith("-") ? word : name;
}

/** The command that the first words name; the longest, as `wf logs export` starts with `wf logs`. */
const commandNamed = (words: readonly string[], commands: readonly Command[]) =>
  commands
    .filter((command) => startsWith(words, command.words))
    .sort((a, b) => b.words.length - a.words.length)[0];

function missingFlags(
  command: Command,
  words: readonly string[],
  globals: Globals,
): readonly string[] {
  const isGiven = (flag: string) =>
    words.some((word) => word === flag || word.startsWith(`${flag}=`));
  // Another profile has its own server and applications.
  if (isGiven("-p") || isGiven("--profile") || isGiven("--help")) return [];
  return scopeFlags.flatMap((key) => {
    const flag = sharedFlagsOf(command).find((each) => each.key === key);
    const value = globals[key];
    if (flag === undefined || value === undefined || isGiven(flag.long)) return [];
    // A password in an address must not be printed.
    if (key === "baseUrl" && /[@?#]/.test(String(value))) return [];
    const name = flag.short ?? flag.long;
    return typeof value === "string" ? [name, value] : [name];
  });
}
