/* What a line with words of other programs means in ours: `kb get documents Handbook` is `kb doc list Handbook`. */
import { commandsBelow } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { commandLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { isFileName, isPath } from "../../lib/text.ts";
import { listCommand, nouns } from "../../resolve/nouns.ts";
import { argumentsOfFlags, inOrder, lineOfApplication, withKb } from "./argument-places.ts";
import { filled, linesElsewhere } from "./elsewhere.ts";
import { groupOfNoun, isVerb, kebabOf, linesOfBoth, verbsFor } from "./words-elsewhere.ts";

/** Words of a command line, the program first. */
type Line = readonly string[];
/** Words without the program and its group, with the commands of the program. */
type Words = readonly string[];
type Commands = readonly Command[];

/** What may follow words of the table, first those that count most: the mark of its line in brackets. */
const kinds: readonly (readonly [mark: string, is: (args: Words) => boolean])[] = [
  ["assignment", (args) => args.some((arg) => arg.includes("="))],
  ["other kb", ([, doc = "", kb]) => isFileName(doc) && kb !== undefined && !isFileName(kb)],
  ["name", ([name]) => isNameOfApp(name)],
  ["to path", ([one, other]) => isPath(other) && !isPath(one)],
  ["path", ([one, other]) => isPath(one) && !isPath(other)],
  ["yaml", (args) => /\.ya?ml$/.test(args.at(-1) ?? "")],
  ["file", (args) => args.some(isFileName) && !args.includes("--text")],
];

/** The line for words behind a program, with a line of their own, by what follows them. */
export function lineOfWords(program: string, words: Words, args: Words = []): string | undefined {
  const typed = words.map(kebabOf).join(" ");
  const table = linesElsewhere[program] ?? {};
  const marks = kinds.flatMap(([mark, is]) => (is(args) ? mark : []));
  const marked = marks.flatMap((mark) => own(table, `${typed} (${mark})`) ?? []);
  const line = own(linesOfBoth, typed);
  return marked[0] ?? own(table, typed) ?? (line && `${program} ${line}`);
}

/** Is this more like the name of an application than a run? */
const isNameOfApp = (word = ""): boolean =>
  /^([a-z][a-z-]*|[A-Z][a-z]+)$/.test(word) && word !== "last";

/**
 * The line for words behind a group such as `["kb", "doc"]`, by what their nouns and verbs are called in other
 * programs; undefined for other words.
 */
export const meantLine = (group: Line, words: Words, commands: Commands): Line | undefined =>
  lineOfPair(group, words, commands) ??
  lineOfDocument(group, words, commands) ??
  (group.length === 1 ? lineOfNoun(group, words, commands) : undefined) ??
  lineOfVerb(group, words, commands) ??
  lineOfRoot(group, words, commands) ??
  lineOfInner(group, words, commands) ??
  lineOfParts(group, words, commands);

/** The line for a noun and a verb behind a program, in either order, or for a noun and what it names. */
export function lineOfNoun(
  [program = "kb"]: Line,
  words: Words,
  commands: Commands,
): Line | undefined {
  const [first = "", ...others] = words;
  const inverted = lineOfVerbAndNoun([program, first], others, commands);
  const group = groupOfNoun(program, first);
  if (inverted || !group) return inverted;
  // `dataset documents Handbook`
  const isNoun = groupOfNoun(program, others[0] ?? "") !== undefined;
  return (
    lineOfVerb(group, others, commands) ??
    lineOfRoot(group, others, commands) ??
    (isNoun ? lineOfNoun([program], others, commands) : undefined) ??
    (isVerb(others[0] ?? "") ? undefined : withoutExcess(listOf(group, others, commands))) ??
    helpOf(group, commands)
  );
}

/** The line for a verb with a knowledge base and a document: `edit Handbook a.md`, `kb show Handbook a.md`. */
export function lineOfDocument(group: Line, words: Words, commands: Commands): Line | undefined {
  const [verb = "", first = "", second = ""] = words;
  const isOfKb = group.join(" ") === "kb" && groupOfNoun("kb", first) === undefined;
  if (!isOfKb || second === "" || second.startsWith("-")) return undefined;
  if (isFileName(first) === isFileName(second)) return undefined;
  const isSwapped = isFileName(first);
  const args = isSwapped ? [second, first, ...words.slice(3)] : words.slice(1);
  const line = lineOfWords("kb", [verb]) ?? "";
  if (line.startsWith("kb sync") || (isSwapped && line.startsWith("kb copy")))
    return ["kb", "doc", "upload", ...args];
  if (line.startsWith("kb doc")) return isSwapped ? [...line.split(" "), ...args] : undefined;
  const verbs = verb === "list" || verb === "ls" ? ["show"] : verbsFor(verb);
  return withoutExcess(bestOf(["kb", "doc"], verbs, args, commands));
}

/** The help of a group of commands. */
const helpOf = (group: Line, commands: Commands): Line | undefined =>
  group.length > 1 && commandsBelow(group, commands).length > 0 ? [...group, "--help"] : undefined;

const withoutExcess = (found: Fitted | undefined): Line | undefined =>
  found?.excess === false ? found.line : undefined;

const fitting = (found: Fitted | undefined): Line | undefined =>
  found?.fits ? found.line : undefined;

/** The line for `kb list` and `documents Handbook`; undefined without a verb or a noun. */
export function lineOfVerbAndNoun(
  [program = "kb", verb = "", ...below]: Line,
  [noun = "", ...rest]: Words,
  commands: Commands,
): Line | undefined {
  if (below.length > 0) return undefined;
  // `use chat` names an object, and not the kind of one.
  const known = lineOfWords(program, [verb]) ?? "";
  if (/ PATH\b/.test(known) || (rest.length === 0 && / [A-Z]+( |$)/.test(known))) return undefined;
  const group = groupOfNoun(program, noun);
  const isCommand = commandsBelow([program, noun], commands).length > 0;
  if (!group && isCommand && verbsFor(verb).includes("show"))
    return completed([program, noun, ...rest], commands).line;
  const isKnown =
    isVerb(verb) || known !== "" || commandsBelow([...(group ?? []), verb], commands).length > 0;
  if (!group || !isKnown) return undefined;
  const isList = noun.endsWith("s") && verbsFor(verb).includes("list");
  const line = lineOfVerb(group, [isList ? "list" : verb, ...rest], commands);
  return line ?? helpOf(group, commands);
}

/** The line for a verb of a group, or for another that the group has for it. */
export function lineOfVerb(group: Line, [verb, ...rest]: Words, commands: Commands) {
  if (verb === undefined) return undefined;
  return bestOf(group, verbsFor(verb), rest, commands)?.line;
}

/** The line for a verb that the program itself has: `kb doc search Handbook leave`. */
function lineOfRoot([program = "kb", ...path]: Line, words: Words, commands: Commands) {
  const [verb = ""] = words;
  const isOfObjects = verbsFor(verb).some((each) => ofObjects.includes(each));
  const isOfSettings = ["profile", "config", "tag"].includes(path[0] ?? "");
  if (path.length === 0 || isOfObjects || isOfSettings) return undefined;
  const isGroup = commands.every((command) => command.words.join(" ") !== `${program} ${verb}`);
  const isOurs = commandsBelow([program, verb], commands).length > 0;
  return isOurs && isGroup ? undefined : lineOfVerb([program], words, commands);
}

/** Verbs of every group: those of a program act on something else than the group. */
const ofObjects = ["list", "show", "create", "update", "delete", "copy", "export"];

/** What lists or shows the objects of a group, by the number of arguments: `chunks Handbook leave.md`. */
const listOf = (group: Line, args: Words, commands: Commands): Fitted | undefined =>
  bestOf(group, ["list", "show", "bound", "bind"], args, commands);

/** What plain words behind a group are meant for: a text, an application. */
const linesOfWords: Readonly<Record<string, string>> = {
  "wf text": "wf text create --query QUERY",
  "wf message": "wf chat send",
  "wf app": "wf app info",
};

/** Is this more like a sentence than a name: `wf completion "Write a poem"`? */
const isSentence = (word = ""): boolean => /[\s\p{Lu}?]/u.test(word);

/** The line for arguments behind a group, if they are as many as its list takes: `kb metadata Handbook`. */
export function lineOfArguments(group: Line, words: Words, commands: Commands): Line | undefined {
  if (group.length === 1) return lineOfLast(group, words, commands);
  const name = group.join(" ");
  if (name === "wf completion" && isSentence(words[0]))
    return completed(filled("wf text create --query QUERY", words), commands).line;
  const known = isVerb(words[0] ?? "") ? undefined : own(linesOfWords, name);
  if (known !== undefined) return completed(filled(known, words), commands).line;
  const run = lineOf(group, "run", words, commands);
  if (run && /\.(ya?ml|csv|jsonl)$/.test(words[0] ?? "")) return run.line;
  // A plain word is a verb that is unknown, and not a name.
  if (/^[a-z-]+$/.test(words[0] ?? "")) return undefined;
  const verbs = ["list", "show", ...(words.length === 2 ? ["bind"] : [])];
  return fitting(bestOf(group, verbs, words, commands));
}

/** The line for two words that have one of their own: `auth login`. */
function lineOfPair(
  [program = "", ...path]: Line,
  [first = "", second = "", ...rest]: Words,
  commands: Commands,
) {
  return lineOfTable(program, [...path, first, second], rest, commands)?.line;
}

/** The line that the table has for words, with what follows them. */
function lineOfTable(program: string, words: Words, args: Words, commands: Commands) {
  const line = lineOfWords(program, words, args);
  return line === undefined ? undefined : completed(filled(line, args), commands);
}

/** The line for a noun behind a group, if its arguments are as many as it takes: `kb doc chunks Handbook leave.md`. */
function lineOfInner(group: Line, [noun = "", ...args]: Words, commands: Commands) {
  const inner = groupOfNoun(group[0] ?? "", noun);
  if (!inner) return undefined;
  return lineOfVerb(inner, args, commands) ?? fitting(listOf(inner, args, commands));
}

/** The line for a word of several: `doc-list`, `upload_document`. */
function lineOfParts(group: Line, [word = "", ...rest]: Words, commands: Commands) {
  const parts = word.split(/[-_]/);
  if (parts.length < 2) return undefined;
  // `test-run`
  const whole = [...group, ...parts, ...rest];
  const { length = 0 } = parted(whole, commands).command?.words ?? [];
  if (length === group.length + parts.length) return completed(whole, commands).line;
  const [verb = "", ...noun] = parts;
  if (group.length === 1)
    return (
      lineOfNoun(group, [verb, noun.join("-"), ...rest], commands) ??
      lineOfNoun(group, [...parts, ...rest], commands)
    );
  const line = [...group, parts[0] ?? "", ...rest];
  return parted(line, commands).command ? completed(line, commands).line : undefined;
}

/** The line for a verb behind a noun that is a command, if it takes what follows: `wf chat history ID`. */
export function lineBehindCommand(
  [program = "", noun = "", ...below]: Line,
  [verb = "", ...args]: Words,
  commands: Commands,
): Line | undefined {
  const group = below.length === 0 ? groupOfNoun(program, noun) : undefined;
  return group && withoutExcess(bestOf(group, verbsFor(verb), args, commands));
}

/** The line for a word that one group alone has: `kb archive Handbook leave.md`. */
function lineOfLast([program = ""]: Line, [word = "", ...rest]: Words, commands: Commands) {
  const found = commands.filter(
    ({ words, effect }) => words.at(-1) === word && words[0] === program && effect !== "destroys",
  );
  const least = Math.min(...found.map(({ words }) => words.length));
  const [only, ...others] = found.filter(({ words }) => words.length === least);
  return only && others.length === 0
    ? completed([...only.words, ...rest], commands).line
    : undefined;
}

interface Fitted {
  readonly line: Line;
  /** Are there as many arguments as the command takes? */
  readonly fits: boolean;
  /** Are there more? */
  readonly excess: boolean;
}

/** The line for the first of these verbs that takes the arguments as they are, or else for the first of all. */
function bestOf(group: Line, names: Words, args: Words, commands: Commands): Fitted | undefined {
  const lines = names.flatMap((verb) => lineOf(group, verb, args, commands) ?? []);
  return lines.find(({ fits }) => fits) ?? lines[0];
}

/** The line for a verb that a group has, or that has a line of its own. */
function lineOf(group: Line, verb: string, args: Words, commands: Commands): Fitted | undefined {
  const [program = "", ...path] = group;
  const line = lineOfTable(program, [...path, verb], args, commands);
  if (line) return line;
  const isKnown = commandsBelow([...group, verb], commands).length > 0;
  return isKnown ? completed([...group, verb, ...args], commands) : undefined;
}

/** The command of a line, and its arguments. */
export function parted(line: Line, commands: Commands) {
  const found = commands.filter(({ words }) => words.every((word, at) => line[at] === word));
  const command = found.toSorted((one, other) => other.words.length - one.words.length)[0];
  return { command, args: line.slice(command?.words.length) };
}

/** The line for a name before its command: `kb Handbook doc list`. */
export function lineWithNameFirst(group: Line, [name = "", ...rest]: Words, commands: Commands) {
  const { command, args } = parted([...group, ...rest], commands);
  if (args.length > 0 && /^[a-z]+$/.test(name)) return undefined; // more like a word that is unknown
  const [verb = "", ...others] = rest;
  if (group.length > 1 && isVerb(verb)) return lineOfVerb(group, [verb, name, ...others], commands);
  return command && group.length === 1 && command.positionals.length > args.length
    ? [...command.words, name, ...args]
    : undefined;
}

/** The command that lists what the first made-up word of a line stands for: `kb list` for KB. */
export function listOfMissing(line: Line, typed: Words, commands: Commands): string | undefined {
  const { command, args } = parted(line, commands);
  const at = args.findIndex((word) => /^[A-Z]+$/.test(word) && !typed.includes(word));
  const { name = "" } = command?.positionals[at] ?? {};
  const { noun, listed } = command?.params[name] ?? {};
  const known = noun ?? listed;
  if (!command || name === "") return undefined;
  const values = new Map(command.positionals.map((each, index) => [each.name, args[index]]));
  if (known) return listCommand(nouns[known], (param) => values.get(param));
  return listBeside(command, commands);
}

/** The list of the group of a command, if it takes no arguments. */
export function listBeside(command: Command, commands: Commands): string | undefined {
  const list = [...command.words.slice(0, -1), "list"].join(" ");
  const lists = commands.find(({ words }) => words.join(" ") === list);
  return command.words.length > 2 && lists?.positionals.length === 0
    ? commandLine(list)
    : undefined;
}

/** A line with its arguments in order, and those that it lacks as words in capitals. */
function completed(typed: Line, commands: Commands): Fitted {
  const { command, args: given } = parted(typed, commands);
  const args = command ? inOrder(command, given) : given;
  const line = command ? [...command.words, ...args] : typed;
  const placed = command && argumentsOfFlags(command, args);
  if (placed) return { line: [...command.words, ...placed], fits: true, excess: false };
  const ofApp = command && lineOfApplication(command, args);
  if (ofApp) return { line: ofApp, fits: true, excess: false };
  if (!command || args.some((word) => word.startsWith("-")))
    return { line, fits: true, excess: false };
  // Without a terminal, no run is asked for.
  const [first] = command.positionals;
  if (args.length === 0 && first?.optional && command.params[first.name]?.listed === "run")
    return { line: [...line, "last"], fits: true, excess: false };
  const withBase = withKb(command, args);
  if (withBase) return { line: withBase, fits: false, excess: false };
  const { positionals } = command;
  // Commander fills those that are required first.
  const missing = positionals.filter(({ optional }) => !optional).slice(args.length);
  const takesAll = args.length <= positionals.length || positionals.at(-1)?.variadic === true;
  return {
    line: [...line, ...missing.map(({ word }) => word.toUpperCase())],
    fits: takesAll && missing.length === 0,
    excess: !takesAll,
  };
}
