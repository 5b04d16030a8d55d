import { readProfiles, sandboxProfile } from "../../config/profiles.ts";
import type { Host } from "../../host/host.ts";
import { own } from "../../lib/json.ts";
import { NEWEST, nameWord } from "../../lib/text.ts";
import type { Noun, Param } from "../../operations/operation.ts";
import { formats } from "../../output/style.ts";
import { topicNames } from "../help/groups.ts";
import {
  chosenBelow,
  flagOf,
  placeholder,
  startsWith,
  withChosen,
  wordBelow,
} from "../parse/command.ts";
import { rulesOf } from "../parse/command-list.ts";
import type { Command } from "../parse/command.ts";
import { ownFlags, sharedFlagHelp, sharedFlags, sharedFlagsOf } from "../parse/shared-flags.ts";
import type { Flag, OwnFlag, SharedFlag } from "../parse/shared-flags.ts";
import { appNames, fetchNames, formTokens, runIds } from "./remote-names.ts";

/** Source of the candidates for a place: words, a lookup, or the files of the shell. */
type Source = readonly string[] | "files" | Lookup;
type Lookup = (at: Cursor) => Promise<Candidate[]> | Candidate[];

interface Cursor {
  readonly place: Place;
  readonly commands: readonly Command[];
  readonly host: Host;
}

/** The word at the cursor and the sources of its candidates. */
interface Place {
  readonly sources: readonly Source[];
  /** Part of the word that stays: `--output=`. */
  readonly prefix: string;
  readonly typed: string;
  readonly line: Line;
}

/** The words before the cursor. */
interface Line {
  readonly path: readonly string[];
  readonly command: Command | undefined;
  readonly positionals: readonly string[];
  /** Flags of the line, long form, with their last value. */
  readonly flags: ReadonlyMap<string, string>;
  /** The flag whose value comes next. */
  readonly pendingFlag: KnownFlag | undefined;
  readonly flagsEnded: boolean;
}

interface Candidate {
  readonly value: string;
  readonly help: string;
}

/** Control and bidi characters, which could change the line being typed. */
const unsafeCharacters = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/**
 * Candidates for a shell, one per line with a tab and a description; the line `:files` requests the
 * shell's own file completion. `words` are the words after the program up to the cursor; the last one
 * is incomplete or empty. Returns "" on every failure.
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
    const all: Candidate[] = [];
    for (const source of place.sources)
      all.push(...(await candidatesOf(source, { place, commands, host })));
    const lines = all
      .filter(({ value }) => value.startsWith(place.typed) && value.search(unsafeCharacters) < 0)
      .map(
        ({ value, help }) => `${place.prefix}${value}\t${help.replace(unsafeCharacters, " ")}\n`,
      );
    return lines.join("") + (place.sources.includes("files") ? ":files\n" : "");
  } catch {
    return ""; // an error would appear in the line being typed
  }
}

/** Candidates of a source; none if its lookup fails, because the other sources may have some. */
async function candidatesOf(source: Source, at: Cursor): Promise<readonly Candidate[]> {
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
function sourcesAfter(line: Line, typed: string): Source[] {
  const { path, command, positionals, pendingFlag, flagsEnded } = line;
  const flags = flagNames(command);
  if (pendingFlag) return [pendingFlag.source ?? []];
  if (!flagsEnded && typed.startsWith("-")) return [flags];
  if (command === undefined && positionals[0] === "help") {
    const shown = positionals.slice(1);
    const further = wordsBelow([...path, ...shown]);
    return shown.length > 0 ? [further] : [helpWords, further];
  }
  const deeper = positionals.length === 0 ? [wordsBelow(path)] : [];
  if (command === undefined) return deeper;
  const source = argumentSource(command, positionals.length);
  return [...deeper, source ?? flags, ...(source === recordings ? (["files"] as const) : [])];
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
  readonly source?: Source | undefined;
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

function ownSource(command: Command | undefined, flag: OwnFlag): Source | undefined {
  if (flag.value === undefined || !command) return undefined;
  return flag.role === "file" ? "files" : valueSource(command, flag.name, flag.param);
}

function sharedSource({ long, value }: SharedFlag): Source | undefined {
  if (value === undefined) return undefined;
  return own(sharedValues, long) ?? (pathWords.test(value) ? "files" : []);
}

/** Values of shared flags that are looked up. */
const sharedValues: Readonly<Record<string, Source>> = {
  "--profile": profileNames,
  "--app": async ({ place, host }) => withoutHelp(await appNames(place.line.flags, host)),
};

/** Values of parameters of the shared commands whose kind is not specific enough. */
const paramValues: Readonly<Record<string, Source>> = {
  "profile show name": profileNames,
  "profile use name": profileNames,
  "profile remove name": profileNames,
  "login name": profileNames,
  "login format": formats,
  "api method": ["GET", "POST", "PUT", "PATCH", "DELETE"],
  "api path": [],
  "sandbox command": "files",
  "stop task_id": runs,
  "open workflow_run_id": runs,
  "form show form_token": forms,
  "form submit form_token": forms,
  "timeline run": recordings,
  "diff a": recordings,
  "diff b": recordings,
};

const pathWords = /^(file|dir|directory|folder|path|data|zip)$/;

function valueSource(command: Command, name: string, param: Param): Source {
  const known = paramValues[[...command.words.slice(1), name].join(" ")];
  if (known) return known;
  if (param.choices) return param.choices;
  if (param.kind === "ref" && param.noun) return references(param.noun);
  if (param.listed === "run") return runs;
  if (param.kind === "file" || param.kind === "content") return "files";
  return param.in === "local" && (pathWords.test(name) || pathWords.test(placeholder(param)))
    ? "files"
    : [];
}

/** Source of a positional by its index; undefined if the command takes fewer. */
function argumentSource(command: Command, index: number): Source | undefined {
  const last = command.positionals.at(-1);
  const positional = command.positionals[index] ?? (last?.variadic ? last : undefined);
  const param = positional && command.params[positional.name];
  return positional && param && valueSource(command, positional.name, param);
}

const flagNames =
  (command: Command | undefined): Lookup =>
  ({ place, commands }) => [
    ...flagsFor(command)
      .filter(({ long, repeats }) => repeats || !place.line.flags.has(long))
      .map(({ long, help }) => ({ value: long, help })),
    ...chosenBelow(place.line.path, command ? commands : []).map(({ task, summary }) => ({
      value: task?.chosenBy ?? "",
      help: summary,
    })),
  ];

const withoutHelp = (words: readonly string[]): Candidate[] =>
  words.map((value) => ({ value, help: "" }));

async function profileNames({ host }: Cursor): Promise<Candidate[]> {
  const { profiles } = await readProfiles(host);
  return [
    ...Object.entries(profiles).map(([value, { base_url = "" }]) => ({ value, help: base_url })),
    { value: sandboxProfile, help: "the running local sandbox" },
  ];
}

/** Runs of the application. */
function runs(at: Cursor): Promise<Candidate[]> {
  return chosen(at, runIds);
}

/** Forms of the application that wait. */
function forms(at: Cursor): Promise<Candidate[]> {
  return chosen(at, formTokens);
}

/** What a command chooses from that is not on the line yet, after `last` where the command takes it. */
async function chosen({ place, host }: Cursor, list: typeof runIds): Promise<Candidate[]> {
  const { command, flags, positionals } = place.line;
  if (!command) return [];
  const { params = [] } = rulesOf(command)?.chosen ?? {};
  const newest = positionals.length < params.length ? [{ value: NEWEST, help: "the newest" }] : [];
  const known = await list({ command, flags }, host).catch(() => []);
  return [...newest, ...known.filter(({ value }) => !positionals.includes(value))];
}

/** Runs, where the files of the shell are recordings. */
function recordings(at: Cursor): Promise<Candidate[]> {
  return runs(at);
}

/** Words that can follow a path: a command with its summary, a group with its words. */
const wordsBelow =
  (path: readonly string[]): Lookup =>
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

/** Names from the server, without those that are already on the line. */
const references =
  (noun: Noun): Lookup =>
  async ({ place: { line, typed }, host }) => {
    const { command, positionals, flags } = line;
    if (!command) return [];
    const typedValue = (name: string, param: Param): string | undefined => {
      const at = command.positionals.findIndex((positional) => positional.name === name);
      return at >= 0 ? positionals[at] : flags.get(`--${flagOf(name, param)}`);
    };
    const within = Object.entries(command.params)
      .filter(([, param]) => param.noun === "kb")
      .map(([name, param]) => typedValue(name, param))
      .find((value) => value !== undefined);
    const start = typed.startsWith("name:") ? typed.slice("name:".length) : typed;
    const names = await fetchNames(noun, { command, flags, within, typed: start }, host);
    const words = names.map((name) => (start === typed ? nameWord(name) : `name:${name}`));
    return withoutHelp(words.filter((word) => !positionals.includes(word)));
  };
