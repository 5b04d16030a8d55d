/* Which command is meant by words that no command has: known words of other programs, groups, and typing errors. */
import { didYouMean } from "../../lib/did-you-mean.ts";
import { own } from "../../lib/json.ts";
import { isRequired, flagOf, flagParams, placeholder } from "../parse/command.ts";
import { commandsOf } from "../parse/command-list.ts";
import type { Command, CommandOutline } from "../parse/command.ts";
import { shownLine } from "../../lib/command-line.ts";
import { parseLine } from "../parse/parser.ts";

/* Words of other programs with ours for the same. They are proposed and never run: elsewhere they may do something else. */

/** Verbs that many groups have, with ours for them, best first. */
export const verbs: Readonly<Record<string, readonly string[]>> = {
  get: ["show", "list"],
  describe: ["show"],
  view: ["show"],
  inspect: ["show"],
  info: ["show"],
  history: ["messages"],
  new: ["create", "add"],
  create: ["add"],
  add: ["create", "bind"],
  edit: ["update"],
  set: ["update"],
  mv: ["rename"],
  move: ["rename"],
  remove: ["delete", "unbind"],
  delete: ["remove"],
  destroy: ["delete"],
  purge: ["delete"],
  attach: ["bind"],
  detach: ["unbind"],
  find: ["search"],
  query: ["search"],
  switch: ["use"],
  start: ["run"],
  exec: ["run"],
  execute: ["run"],
  cancel: ["stop"],
  kill: ["stop"],
  rerun: ["retry"],
  restart: ["retry"],
  put: ["upload"],
  "create-by-file": ["upload"],
  "create-by-text": ["add"],
  "update-by-file": ["replace"],
};

/** Nouns in the singular, with our group for each; `""` is the program's own objects. */
export const groupsOfNouns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kb: {
    kb: "",
    dataset: "",
    "knowledge-base": "",
    collection: "",
    document: "doc",
    file: "doc",
    page: "doc",
    segment: "chunk",
    "child-chunk": "chunk child",
    field: "metadata",
    meta: "metadata",
    label: "tag",
    embedding: "model",
    snapshot: "backup",
    context: "profile",
    workspace: "profile",
  },
  wf: {
    run: "",
    workflow: "",
    execution: "",
    job: "",
    task: "",
    application: "app",
    bot: "app",
    thread: "conversation",
    session: "conversation",
    chat: "conversation",
    approval: "form",
    "human-input": "form",
    suite: "test",
    rating: "feedback",
    context: "profile",
    workspace: "profile",
  },
};

type Words = readonly string[];
type Commands = readonly CommandOutline[];

/** A command, and the words that follow it. */
export interface Meant {
  readonly command: CommandOutline;
  readonly rest: Words;
}

/** Words that are read as words of commands: nouns, a verb, and another noun. */
const LONGEST = 4;

/**
 * The command that the words of a line are meant for. More than the first `known` of them, the program included,
 * must be words of the command, in any order: `["kb", "get", "documents", "Handbook"]` is `kb doc list`.
 */
export function meantCommand(line: Words, known: number, commands: Commands): Meant | undefined {
  const flagAt = line.findIndex((word) => word.startsWith("-"));
  const plain = flagAt === -1 ? line.length : flagAt;
  for (let length = Math.min(plain, LONGEST + 1); length > known; length--) {
    const found = bestFor(line.slice(0, length), line.slice(length, plain), commands);
    if (found) return { command: found, rest: line.slice(length) };
  }
  return undefined;
}

/** The known word that a misspelled one is nearest to; undefined if it goes far beyond it. */
export function nearWord(word: string, known: Words): string | undefined {
  const near = didYouMean(word, known);
  return near === undefined || word.length - near.length > 2 ? undefined : near;
}

/** How words name a command, the surest first. */
type Naming = "entry" | "exact" | "implied" | "last";

/** The command that words name: by an entry, exactly, as the list or sheet of a noun, or by a word of one group alone. */
function bestFor(words: Words, args: Words, commands: Commands): CommandOutline | undefined {
  const [program = "", ...spoken] = words.map(written);
  const readings = readingsOf(program, spoken);
  const isOne = (path: Words) => readings.some((each) => sameWords(each, path));
  // `get logs`: what a noun lists or shows may be a command without a verb.
  const isRead = (path: Words) =>
    readings.some((each) => each.some(isSheet) && sameWords(each.filter(isNoSheet), path));
  const others = spoken.filter((word) => groupOf(program, word) !== "");
  const said = [spoken.join(" "), others.join(" ")];
  const named: Record<Naming, CommandOutline[]> = { entry: [], exact: [], implied: [], last: [] };
  const namingOf = (command: CommandOutline): Naming | undefined => {
    const { words: all, positionals, effect } = command;
    const path = all.slice(1);
    const last = path.at(-1) ?? "";
    if (entriesOf(command).some((entry) => said.includes(entry))) return "entry";
    if (isOne(path)) return "exact";
    const isMeant = isSheet(last) ? isOne(path.slice(0, -1)) : isRead(path);
    if (effect === "reads" && isMeant && args.length <= positionals.length) return "implied";
    const isBelow = path.length === 2 && effect !== "destroys";
    return isBelow && spoken.length === 1 && last === spoken[0] ? "last" : undefined;
  };
  for (const command of commands) {
    const naming = command.words[0] === program ? namingOf(command) : undefined;
    if (naming) named[naming].push(command);
  }
  const { entry, exact, implied, last } = named;
  const found = [entry, exact, implied].find((each) => each.length > 0);
  if (found) return fitting(found, args);
  return last.length === 1 ? last[0] : undefined;
}

const isSheet = (word: string): boolean => ["list", "show"].includes(word);
const isNoSheet = (word: string): boolean => !isSheet(word);

/** `hit_testing` and `hitTesting` as our commands are written. */
const written = (word: string): string =>
  word
    .replace(/^ls$/, "list")
    .replaceAll("_", "-")
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The words of other programs for a command, one alone and in its group: `cp`, `doc cp`; several as they are. */
const entriesOf = ({ words, meant }: CommandOutline): Words =>
  meant.flatMap((word) =>
    word.includes(" ") ? [word] : [word, [...words.slice(1, -1), word].join(" ")],
  );

/** What spoken words are in our words, each once: `get documents` is `show doc` and `list doc`. */
function readingsOf(program: string, spoken: Words): readonly Words[] {
  const parts = spoken.length === 1 ? (spoken[0] ?? "").split("-") : spoken;
  const all = [spoken, ...(parts.length > spoken.length && parts.length <= LONGEST ? [parts] : [])];
  return all.flatMap((words) =>
    words.reduce<readonly Words[]>(
      (lines, word) =>
        lines.flatMap((line) => meaningsOf(program, word).map((each) => [...line, ...each])),
      [[]],
    ),
  );
}

/** What one word is in ours: itself, a verb, or the words of a group. */
function meaningsOf(program: string, word: string): readonly Words[] {
  const group = groupOf(program, word);
  // The plural of a noun is never a verb: `wf runs` starts nothing.
  const plain = group === undefined ? [singular(word)] : [];
  const readings = [word, ...plain, ...(own(verbs, word) ?? [])];
  const ours = group === undefined ? [] : [group];
  return [...new Set(readings), ...ours].map((each) => each.split(" ").filter(Boolean));
}

const singular = (word: string): string => word.replace(/s$/, "");

/** Our group for a noun, in the plural as well. */
function groupOf(program: string, word: string): string | undefined {
  const groups = groupsOfNouns[program] ?? {};
  return own(groups, word) ?? own(groups, singular(word));
}

/** Are the words the same in any order? A noun may stand twice: `kb dataset list`. */
const sameWords = (one: Words, other: Words): boolean =>
  one.length === other.length && one.toSorted().join(" ") === other.toSorted().join(" ");

/** The first command that takes so many arguments, or else the first. */
const fitting = (commands: Commands, args: Words): CommandOutline | undefined =>
  commands.find((command) => takes(command, args.length)) ?? commands[0];

function takes({ positionals }: CommandOutline, count: number): boolean {
  const required = positionals.filter(({ optional }) => !optional).length;
  const isOpen = positionals.some(({ variadic }) => variadic);
  return count >= required && (isOpen || count <= positionals.length);
}

/** Is this a verb that groups have, here or in another program? */
export const isVerb = (word: string): boolean =>
  own(verbs, word) !== undefined ||
  ["ls", "rm", "list", "show", "update", "rename", "copy", "export", "import"].includes(word);

/**
 * The line to type: the command with what followed, words in capitals for what is missing; its help where that
 * cannot be parsed.
 */
export async function proposal({ command: { words }, rest }: Meant): Promise<string> {
  const commands = await commandsOf(words[0] === "wf" ? "wf" : "kb", words[1]);
  const command = commands.find((each) => each.words.join(" ") === words.join(" "));
  if (!command) throw new Error(`no feature has ${words.join(" ")}`);
  const flagAt = rest.findIndex((word) => word.startsWith("-"));
  const args = flagAt === -1 ? rest : rest.slice(0, flagAt);
  const missing = command.positionals
    .filter(({ optional }) => !optional)
    .slice(args.length)
    .map(({ word }) => word.toUpperCase());
  const flags = [...rest.slice(args.length), ...requiredFlags(command, rest)];
  const line = [...command.words, ...args, ...missing, ...flags];
  return shownLine(isValid(line, commands) ? line : [...command.words, "--help"]);
}

/** Flags that a command needs and a line has not, with words in capitals. */
const requiredFlags = (command: Command, rest: Words): Words =>
  flagParams(command).flatMap(([name, param]) => {
    const flag = `--${flagOf(name, param)}`;
    const isGiven = rest.some((word) => word === flag || word.startsWith(`${flag}=`));
    const [value = "VALUE"] = /^[\w-]+$/.exec(placeholder(param)) ?? [];
    return isRequired(param) && !isGiven ? [flag, value.toUpperCase()] : [];
  });

function isValid(line: Words, commands: readonly Command[]): boolean {
  try {
    const parsed = parseLine(line, commands);
    if (parsed.kind !== "run") return false;
    const { command, typed } = parsed;
    const pairs = command.positionals.filter(
      ({ name }) => command.params[name]?.placeholder === "name=value",
    );
    const texts = pairs.flatMap(({ name }) => [typed[name] ?? []].flat());
    return texts.every((text) => String(text).includes("="));
  } catch {
    return false; // flags that exclude each other
  }
}
