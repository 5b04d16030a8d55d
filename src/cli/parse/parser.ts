import { Command as Commander, CommanderError, Option } from "commander";
import { usage } from "../../errors.ts";
import { aliasesOf, argumentOf, commandsBelow, startsWith, withChosen } from "./command.ts";
import type { Command } from "./command.ts";
import { flagsOf, matchedDocuments, optionName, ownFlags, sharedFlags } from "./shared-flags.ts";
import type { Flag, Globals, OwnFlag, SharedFlag } from "./shared-flags.ts";
import type { TypedLine } from "./values.ts";

/** A command line that is parsed and not yet checked. */
export type ParsedLine =
  | {
      readonly kind: "run";
      readonly command: Command;
      /** By parameter name. */
      readonly typed: Readonly<Record<string, TypedLine>>;
      readonly globals: Globals;
    }
  /** Help of the words after the program; `brief` with -h. */
  | { readonly kind: "help"; readonly path: readonly string[]; readonly brief: boolean }
  | { readonly kind: "version" }
  /** `lineError` explains it: most starts do not need its texts. */
  | { readonly kind: "invalid"; readonly problem: LineProblem };

/** Why a command line cannot be parsed. */
export type LineProblem =
  /** A word that is not a command of a group (`["kb", "tag"]`), whose words are known, and what follows it. */
  | {
      readonly word: string;
      readonly group: readonly string[];
      readonly known: readonly string[];
      readonly rest: readonly string[];
    }
  | RejectedLine;

/** Where commander stopped; `command` is undefined at a group of commands. */
export interface RejectedLine {
  readonly error: CommanderError;
  readonly program: string;
  /** All words of the line behind the program. */
  readonly words: readonly string[];
  readonly node: Commander;
  readonly command: Command | undefined;
}

/** How far commander has come in the tree. */
interface Reached {
  readonly node: Commander;
  readonly path: readonly string[];
  readonly command: Command | undefined;
}

/**
 * Parses a command line (`["kb", "create", "Handbook"]`) with the commands of its program. Nothing
 * runs here. Throws a usage error for flags that exclude each other.
 *
 * Building the whole tree of commander objects takes longer than all other work of a start, so the tree
 * grows along the command line: each node gets its flags and children when commander reaches it, and only
 * the child that the line names.
 *
 *     kb doc add Handbook a.md  kb ── doc ── add <kb> <name> --text --text-file …
 */
export function parseLine(argv: readonly string[], commands: readonly Command[]): ParsedLine {
  const [program = "kb", ...given] = argv;
  const words = withChosen(given, commands);
  const root = newRoot(program);
  let reached: Reached = { node: root, path: [], command: undefined };
  let result: ParsedLine | undefined;
  /** Gives a node its flags, and the children that commander may look for. */
  const enter = (node: Commander, path: readonly string[]): void => {
    const all = commandsBelow([program, ...path], commands);
    // A word can be a command and have commands below it: `wf logs`, `wf logs export`.
    const found = all.find((each) => each.words.length === path.length + 1);
    const command = found && withoutDocuments(found, words);
    reached = { node, path, command };
    node.helpInformation = () => ""; // cli/help has the pages, and the bundle not commander's
    if (command) {
      describe(node, command, words);
      node.action(() => {
        const globals = optionsGiven(node);
        const typed = typedValues(command, node.processedArgs, globals);
        result = { kind: "run", command, typed, globals };
      });
    }
    // Shared flags may precede the command (`kb -p staging list`), which is rare.
    else if (path.length > 0 || words[0]?.startsWith("-"))
      for (const flag of sharedFlags) node.addOption(optionOf(flag));
    const children = new Set(all.flatMap((each) => each.words[path.length + 1] ?? []));
    node.hook("preSubcommand", (_, child) => {
      if (children.has(child.name())) enter(child, [...path, child.name()]);
    });
    const next = wordAfter(path, words) ?? "";
    for (const child of children.has(next) ? [next] : children)
      node.command(child).aliases(aliasesOf(child, [program, ...path], all));
  };
  enter(root, []);
  try {
    root.parse(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return stopped(error, reached, [program, ...words], commands);
  }
  return result ?? helpOf([], words);
}

const newRoot = (program: string): Commander =>
  new Commander(program)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .showSuggestionAfterError(false) // line-error.ts has its own
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption("-h, --help", "Show help")
    .version("", "-V, --version");

/** What the end of commander's parsing means. */
function stopped(
  error: CommanderError,
  { node, path, command }: Reached,
  [program = "kb", ...words]: readonly string[],
  commands: readonly Command[],
): ParsedLine {
  const unknownWord = (word: string): ParsedLine => {
    const group = [program, ...path];
    const known = commandsBelow(group, commands).flatMap((each) => each.words[group.length] ?? []);
    const rest = words.slice(words.indexOf(word) + 1);
    return { kind: "invalid", problem: { word, group, known, rest } };
  };
  switch (error.code) {
    case "commander.version":
      return { kind: "version" };
    case "commander.unknownCommand":
      return unknownWord(node.args[0] ?? "");
    case "commander.help":
    case "commander.helpDisplayed": {
      // A known word would have reached its own node.
      const word = command ? undefined : wordAfter(path, words);
      const isUnknown = word !== undefined && !word.startsWith("-");
      return isUnknown ? unknownWord(word) : helpOf(path, words);
    }
    default:
      return { kind: "invalid", problem: { error, program, words, node, command } };
  }
}

function helpOf(path: readonly string[], words: readonly string[]): ParsedLine {
  const flag = words.find((word) => ["-h", "--help", "--"].includes(word));
  return { kind: "help", path, brief: flag === "-h" || words.length === 0 };
}

/** The word of the command line after a path; undefined if flags stand between. */
const wordAfter = (path: readonly string[], words: readonly string[]): string | undefined =>
  startsWith(words, path) ? words[path.length] : undefined;

/** Flags that print JSON, with the formats that they can be given with. */
const jsonFormats: Readonly<Record<string, readonly string[]>> = {
  json: ["json"],
  jq: ["json", "jsonl"],
};

/** Options of a command and of the groups above it; those nearest to the command win. */
function optionsGiven(leaf: Commander): Globals & Record<string, unknown> {
  const levels: Commander[] = [];
  for (let node: Commander | null = leaf; node; node = node.parent) levels.unshift(node);
  const verbose = levels.flatMap(
    (level) => (level.opts()["verbose"] as unknown[] | undefined) ?? [],
  );
  const given = Object.assign({}, ...levels.map((level) => level.opts()), { verbose }) as Globals &
    Record<string, unknown>;
  // What a command does with several applications, it does with each of them.
  const { app } = given as { app?: unknown };
  if (Array.isArray(app)) Object.assign(given, { apps: app, app: app[0] });
  for (const [name, formats] of Object.entries(jsonFormats)) {
    if (given[name] === undefined || formats.includes(given.output ?? "json")) continue;
    throw usage(`use either --${name} or -o ${given.output}, not both`);
  }
  return given;
}

/** The command as --where changes it: without the documents that it stands for. */
function withoutDocuments(command: Command, line: readonly string[]): Command {
  const name = matchedDocuments(command);
  if (name === undefined || !line.some((word) => /^--where(=|$)/s.test(word))) return command;
  const positionals = command.positionals.map((one) => ({ ...one, optional: one.name === name }));
  return { ...command, positionals };
}

function describe(node: Commander, command: Command, line: readonly string[]): void {
  // Commander counts words, so those that are required come first.
  const inOrder = [...command.positionals].sort((a, b) => Number(a.optional) - Number(b.optional));
  for (const positional of inOrder) node.argument(argumentOf(positional));
  const all = flagsOf(command);
  for (const flag of namedIn(line, all)) {
    requireValue(flag, line, all);
    node.addOption(optionOf(flag, command));
  }
}

/**
 * Throws usage where a flag of the command stands in the place of a value: commander would take it for the
 * value, and `--profile -q` look for a profile `-q`.
 */
function requireValue(flag: Flag, line: readonly string[], all: readonly Flag[]): void {
  if (flag.value === undefined || flag.usage.endsWith("]")) return;
  const end = line.indexOf("--");
  const words = end < 0 ? line : line.slice(0, end);
  const next = words.find(
    (word, at) =>
      at > 0 && flag.usage.split(/, | /).includes(words[at - 1] ?? "") && word.startsWith("-"),
  );
  const isFlag = ({ long, short }: Flag) =>
    long === next || (short !== undefined && short === next);
  if (next === undefined || !all.some(isFlag)) return;
  throw usage(
    `${flag.long} needs a value (<${flag.value}>), and ${next} is a flag`,
    `write ${flag.long} ${flag.value.toUpperCase()} ${next}; if ${next} is the value: ${flag.long}=${next}`,
  );
}

/**
 * The flags that a line may name, of all those that a command has. A flag and its
 * `--no-` form come together, because commander sets a default for one without the other.
 */
function namedIn<F extends Flag>(line: readonly string[], flags: readonly F[]): F[] {
  const positive = (long: string) => long.replace(/^--no-/, "--");
  const long = line.filter((word) => word.startsWith("--"));
  const names = new Set(long.map((word) => positive(word.split("=", 1)[0] ?? "")));
  const letters = line.filter((word) => /^-[^-]/.test(word)).join("");
  return flags.filter(
    ({ long: name, short }) =>
      names.has(positive(name)) || (short !== undefined && letters.includes(short.slice(1))),
  );
}

function optionOf(flag: OwnFlag | SharedFlag, command?: Command): Option {
  const option = new Option(flag.usage, flag.help);
  if ("key" in flag) option.attributeName = () => flag.key;
  if (flag.bareValue !== undefined) option.preset(flag.bareValue);
  const repeats = "repeatsFor" in flag && command && flag.repeatsFor?.(command);
  if (flag.repeats || repeats) return repeatable(option);
  return flag.value === undefined ? option : option.argParser(onlyValue(flag.long));
}

/** Commander would take the last of several values without a word. */
const onlyValue =
  (long: string) =>
  (value: string, before: string | undefined): string => {
    if (before === undefined || before === value) return value;
    throw usage(
      `${long} was given more than once with different values`,
      `${long} takes one value; remove the others`,
    );
  };

const repeatable = (option: Option) =>
  option.isBoolean()
    ? option
        .preset(true)
        .argParser((_: unknown, before: unknown[] | undefined) => [...(before ?? []), true])
    : option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);

/** The values of a command's parameters, from commander's arguments and options. Throws usage. */
export function typedValues(
  command: Command,
  args: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Record<string, TypedLine> {
  const typed: Record<string, TypedLine> = {};
  // Commander types them as any.
  const words = (args as readonly (TypedLine | undefined)[]).filter(
    (value) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  filledBy(words.length, command).forEach(({ name }, index) => {
    typed[name] = words[index] ?? "";
  });
  const given = new Map<string, OwnFlag>();
  for (const flag of ownFlags(command)) {
    const value = valueOf(flag, options[optionName(flag.long)]);
    if (value === undefined) continue;
    const other = given.get(flag.name);
    if (other) throw usage(`use either ${other.long} or ${flag.long}, not both`);
    given.set(flag.name, flag);
    typed[flag.name] = flag.param.short ? both(typed[flag.name], value) : value;
  }
  return typed;
}

/** The positionals that so many words fill: the required ones, then optional ones from the left. */
function filledBy(count: number, { positionals }: Command): Command["positionals"] {
  let spare = count - positionals.filter(({ optional }) => !optional).length;
  return positionals.filter(({ optional }) => !optional || spare-- > 0);
}

const both = (words: TypedLine | undefined, flags: TypedLine): TypedLine =>
  Array.isArray(words) && Array.isArray(flags) ? ([...words, ...flags] as string[]) : flags;

/** Commander reads `--no-x` as x = false. The parser's own options define the types of values. */
function valueOf({ role, long }: OwnFlag, option: unknown): TypedLine | undefined {
  if (role === "no") return undefined; // read with the flag that it negates
  if (long.startsWith("--no-")) return option === false || undefined;
  if (role === "file" && option !== undefined) return { file: String(option) };
  return option as TypedLine | undefined;
}
