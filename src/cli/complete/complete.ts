import type { Host } from "../../host/host.ts";
import { patternOf } from "../../lib/text.ts";
import { topicNames } from "../help/groups.ts";
import { chosenBelow, startsWith, withChosen, wordBelow } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { ownFlags, sharedFlagHelp, sharedFlags, sharedFlagsOf } from "../parse/shared-flags.ts";
import type { Flag } from "../parse/shared-flags.ts";
import type { Candidate } from "./remote-names.ts";
import { argumentSources, ownSource, sharedSource, withoutHelp } from "./sources.ts";
import type { Cursor, CandidateLookup, CandidateSource } from "./sources.ts";

/** The word at the cursor and the sources of its candidates. */
interface Place {
  readonly sources: readonly CandidateSource[];
  /** Part of the word that stays: `--output=`. */
  readonly prefix: string;
  readonly typed: string;
  readonly line: Line;
}

/** The words before the cursor. */
interface Line extends Readonly<Cursor["line"]> {
  readonly path: readonly string[];
  /** The flag whose value comes next. */
  readonly pendingFlag: KnownFlag | undefined;
  readonly flagsEnded: boolean;
}

/** Control and bidi characters, which could change the line being typed. */
const unsafeCharacters = patternOf(String.raw`[\p{Cc}\u2028-\u202e\u2066-\u2069]+`, "gu");

/**
 * Candidates for a shell, one per line with a tab and a description; the line `:files` requests the
 * shell's own file completion, and `:open` that no space follows a candidate. `words` are the words after the
 * program up to the cursor; the last one is incomplete or empty. Returns "" on every failure.
 *
 *     ["tag", "ren"]           → "rename\tRename a tag\n"
 *     ["list", "--output=js"]  → "--output=json\t\n--output=jsonl\t\n"
 */
export async function completions(
  program: string,
  words: readonly string[],
  commands: readonly Command[],
  host: Host,
): Promise<string> {
  try {
    const place = placeOf(program, words, commands);
    const { line, typed, prefix, sources } = place;
    const all: Candidate[] = [];
    for (const source of sources)
      all.push(...(await candidatesOf(source, { line, typed, commands, host })));
    const shown = all.filter(
      ({ value }) => value.startsWith(typed) && value.search(unsafeCharacters()) < 0,
    );
    const lines = shown.map(
      ({ value, help }) => `${prefix}${value}\t${help.replace(unsafeCharacters(), " ")}\n`,
    );
    if (shown.some(({ open }) => open)) lines.push(":open\n");
    if (sources.includes("files")) lines.push(":files\n");
    return host.secrets.masked(lines.join(""));
  } catch {
    return ""; // an error would appear in the line being typed
  }
}

/** Candidates of a source; none if its lookup fails, because the other sources may have some. */
async function candidatesOf(source: CandidateSource, at: Cursor): Promise<readonly Candidate[]> {
  if (source === "files") return [];
  if (typeof source !== "function") return withoutHelp(source);
  try {
    return await source(at);
  } catch {
    return []; // an error would appear in the line being typed
  }
}

function placeOf(program: string, words: readonly string[], commands: readonly Command[]): Place {
  const typed = words.at(-1) ?? "";
  const line = lineOf(program, withChosen(words.slice(0, -1), commands), commands);
  const [, prefix = "", rest = ""] = /^(--[^=]+=)(.*)$/s.exec(typed) ?? [];
  if (prefix === "" || line.pendingFlag || line.flagsEnded)
    return { line, prefix: "", typed, sources: sourcesAfter(line, typed) };
  const flag = flagsFor(line.command).find(({ long }) => `${long}=` === prefix);
  return { line, prefix, typed: rest, sources: [flag?.source ?? []] };
}

/** Sources for a word that does not start with `--flag=`. */
function sourcesAfter(line: Line, typed: string): CandidateSource[] {
  const { path, command, positionals, pendingFlag, flagsEnded } = line;
  const flags = flagNames(line);
  if (pendingFlag) return [pendingFlag.source ?? []];
  if (!flagsEnded && typed.startsWith("-")) return [flags];
  if (command === undefined && positionals[0] === "help") {
    const shown = positionals.slice(1);
    const further = wordsBelow([...path, ...shown]);
    return shown.length > 0 ? [further] : [helpWords, further];
  }
  const deeper = positionals.length === 0 ? [wordsBelow(path)] : [];
  if (command === undefined) return deeper;
  const sources = argumentSources(command, positionals.length);
  return [...deeper, ...(sources.length === 0 ? [flags] : sources)];
}

/** Reads the words before the cursor like the parser. */
function lineOf(program: string, words: readonly string[], commands: readonly Command[]): Line {
  let path: readonly string[] = [program];
  let pendingFlag: KnownFlag | undefined;
  let flagsEnded = false;
  const positionals: string[] = [];
  const flags = new Map<string, string>();
  const commandAt = () => commands.find((command) => isCommand(command, path));
  const below = (word: string) =>
    positionals.length > 0 || flagsEnded ? undefined : wordBelow(path, word, commands);

  for (const word of words) {
    if (pendingFlag) {
      flags.set(pendingFlag.long, word);
      pendingFlag = undefined;
    } else if (flagsEnded || !/^-./.test(word)) {
      const next = below(word);
      if (next === undefined) positionals.push(word);
      else path = [...path, next];
    } else if (word === "--") flagsEnded = true;
    else pendingFlag = readFlag(word, flagsFor(commandAt()), flags);
  }
  return { path, command: commandAt(), positionals, flags, pendingFlag, flagsEnded };
}

/** A flag with the source of its value; undefined for a flag without one. */
interface KnownFlag extends Omit<Flag, "usage"> {
  readonly source?: CandidateSource | undefined;
}

const helpWords = [...topicNames, "--json", "--compact"];

/** Records a flag before the cursor; returns it if the next word is its value. */
function readFlag(
  word: string,
  known: readonly KnownFlag[],
  flags: Map<string, string>,
): KnownFlag | undefined {
  const [, name = word, , value] = /^(--[^=]+)(=(.*))?$/s.exec(word) ?? [];
  const long = known.find((flag) => flag.long === name);
  if (long) {
    flags.set(long.long, value ?? "");
    return long.source !== undefined && value === undefined ? long : undefined;
  }
  if (word.startsWith("--")) return undefined;
  // Combined letters (`-vqo json`): the first that takes a value takes the rest of the word.
  for (let at = 1; at < word.length; at++) {
    const short = known.find((flag) => flag.short === `-${word[at]}`);
    if (!short) continue;
    const rest = word.slice(at + 1);
    flags.set(short.long, short.source === undefined ? "" : rest);
    if (short.source !== undefined) return rest === "" ? short : undefined;
  }
  return undefined;
}

const helpFlag = { long: "--help", short: "-h", help: "Show help", repeats: false };
const versionFlag = { long: "--version", short: "-V", help: "Show version", repeats: false };
const licensesFlag = { long: "--licenses", help: "Show licenses", repeats: false };

function flagsFor(command: Command | undefined): KnownFlag[] {
  const shared = command ? sharedFlagsOf(command) : sharedFlags;
  const own = command ? ownFlags(command) : [];
  return [
    ...own.map((flag) => ({ ...flag, source: ownSource(command, flag) })),
    ...shared.map((flag) => ({
      ...flag,
      help: sharedFlagHelp(flag, command),
      repeats: flag.repeats || (command !== undefined && flag.repeatsFor?.(command) === true),
      source: flag.choices?.(command) ?? sharedSource(flag),
    })),
    ...(command ? [helpFlag] : [helpFlag, versionFlag, licensesFlag]),
  ];
}

const flagNames =
  ({ path, command, flags }: Line): CandidateLookup =>
  ({ commands }) => [
    ...flagsFor(command)
      .filter(({ long, repeats }) => repeats || !flags.has(long))
      .map(({ long, help }) => ({ value: long, help })),
    ...chosenBelow(path, command ? commands : []).map(({ task, summary }) => ({
      value: task?.chosenBy ?? "",
      help: summary,
    })),
  ];

/** Words that can follow a path: a command with its summary, a group with its words. */
const wordsBelow =
  (path: readonly string[]): CandidateLookup =>
  ({ commands }) => {
    const children = new Map<string, string>();
    for (const { words, summary } of commands) {
      const word = words[path.length];
      if (word === undefined || !startsWith(words, path)) continue;
      const next = words[path.length + 1];
      const known = children.get(word);
      if (next === undefined) children.set(word, summary);
      else if (known === undefined) children.set(word, next);
      else if (!commands.some((other) => isCommand(other, [...path, word]))) {
        if (!known.split(", ").includes(next)) children.set(word, `${known}, ${next}`);
      }
    }
    if (path.length === 1) children.set("help", "Show help on a command or a topic");
    return [...children].map(([value, help]) => ({ value, help }));
  };

const isCommand = ({ words }: Command, path: readonly string[]): boolean =>
  words.length === path.length && startsWith(words, path);
