import { mapCommands } from "../../lib/command-line.ts";
import type { CliError } from "../../errors.ts";
import { commandsOf } from "../parse/command-list.ts";
import type { Command } from "../parse/command.ts";
import { sharedFlags, sharedFlagsOf } from "../parse/shared-flags.ts";
import type { Globals, SharedFlag } from "../parse/shared-flags.ts";

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
    .filter((command) => command.words.every((word, index) => words[index] === word))
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
