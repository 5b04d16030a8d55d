import { Command as Commander, CommanderError, Option } from "commander";
import { usage } from "../../errors.ts";
import { argumentOf, startsWith } from "./command.ts";
import type { Command } from "./command.ts";
import { ownFlags } from "./flags.ts";
import type { Flag, OwnFlag } from "./flags.ts";
import { formerWords } from "./former-words.ts";
import { withJsonColumns } from "./json-columns.ts";
import { meaningOf, synonymError, synonymsBelow } from "./synonyms.ts";
import type { Synonym } from "./synonyms.ts";
import { sharedFlags, sharedFlagsOf } from "./shared-flags.ts";
import type { Globals, SharedFlag } from "./shared-flags.ts";
import { typedValues } from "./typed-values.ts";
import type { TypedLine } from "./typed-values.ts";

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
  /** A word that is not a command of a group (`["kb", "tag"]`), whose words are known. */
  | { readonly word: string; readonly group: readonly string[]; readonly known: readonly string[] }
  | RejectedLine;

/** Where commander stopped; `command` is undefined at a group of commands. */
export interface RejectedLine {
  readonly error: CommanderError;
  readonly program: string;
  readonly node: Commander;
  readonly command: Command | undefined;
  /** Every flag there: the node of a command has those that the line names. */
  readonly flags: readonly KnownFlag[];
}

/** A flag as commander has it. */
type KnownFlag = Pick<Option, "flags" | "long" | "description" | "hidden">;

/**
 * Parses a command line (`["kb", "create", "Handbook"]`) with the commands of its program. Nothing
 * runs here. Throws a usage error for flags that exclude each other.
 */
export function parseLine(argv: readonly string[], commands: readonly Command[]): ParsedLine {
  const [program = "kb", ...words] = argv;
  return new LineParser(program, words, commands).parse();
}

/** Ends commander's parsing at an unknown word. */
class UnknownWord extends Error {
  readonly problem: LineProblem;

  constructor(problem: LineProblem) {
    super("unknown word");
    this.problem = problem;
  }
}

/** A command under one of its names: `words` differ from its own under a former name. */
interface Entry {
  readonly words: readonly string[];
  readonly command: Command;
}

/** Where commander is in the tree. */
interface Reached {
  readonly node: Commander;
  readonly path: readonly string[];
  readonly command: Command | undefined;
}

/**
 * One parse. Building the whole tree of commander objects takes longer than all other work of a
 * start, so the tree grows along the command line: each node gets its flags and children when
 * commander reaches it, and only children that the line names.
 *
 *     kb doc add Handbook a.md      kb ── doc ── add <kb> <name> --text --text-file …
 *     kb --quiet doc add list a.md  kb ── doc ─┬ add <kb> <name> --text --text-file …
 *                                              └ list      (without flags: not reached)
 */
class LineParser {
  private readonly program: string;
  private readonly words: readonly string[];
  private readonly commands: readonly Command[];
  /** Adds flags and children to a node that commander reaches. */
  private readonly prepare = new Map<Commander, () => void>();
  /** The node that commander reached last, its words, and its command if it is one. */
  private reached: Reached;
  private result: ParsedLine | undefined;

  constructor(program: string, words: readonly string[], commands: readonly Command[]) {
    this.program = program;
    this.words = words;
    this.commands = commands;
    this.reached = { node: new Commander(program), path: [], command: undefined };
  }

  parse(): ParsedLine {
    const root = this.reached.node
      .exitOverride()
      .configureOutput({ writeOut: () => {}, writeErr: () => {} })
      .showSuggestionAfterError(false) // line-error.ts has its own
      .enablePositionalOptions()
      .helpCommand(false)
      .helpOption("-h, --help", "Show help")
      .version("", "-V, --version");
    // Shared flags may precede the command (`kb -p staging list`), which is rare.
    if (this.words[0]?.startsWith("-")) addSharedFlags(root);
    this.becomeGroup(root, []);
    this.grow(root, [], this.entries());
    try {
      root.parse([...this.words], { from: "user" });
    } catch (error) {
      if (error instanceof UnknownWord) return { kind: "invalid", problem: error.problem };
      if (!(error instanceof CommanderError)) throw error;
      if (error.code === "commander.version") return { kind: "version" };
      const isHelp = error.code === "commander.helpDisplayed" || error.code === "commander.help";
      if (!isHelp) return { kind: "invalid", problem: this.problemOf(error) };
    }
    return this.result ?? this.help([]);
  }

  private problemOf(error: CommanderError): LineProblem {
    const { node, path, command } = this.reached;
    const [word = "-"] = node.args;
    // Commander checks the flags of a group first, but they are those of a command.
    return error.code === "commander.unknownOption" && !command && !word.startsWith("-")
      ? this.unknownWord(path, word)
      : { error, program: this.program, node, command, flags: knownFlags(node, command) };
  }

  private entries(): Entry[] {
    const entries = this.commands.map((command): Entry => ({ words: command.words, command }));
    for (const { words, current } of formerWords) {
      const command = this.commands.find((one) => one.words.join(" ") === current);
      if (command) entries.push({ words, command });
    }
    return entries;
  }

  private help(path: readonly string[]): ParsedLine {
    const flag = this.words.find((word) => ["-h", "--help", "--"].includes(word));
    return { kind: "help", path, brief: flag === "-h" };
  }

  /** The word of the command line after a path; undefined if flags stand between. */
  private wordAfter(path: readonly string[]): string | undefined {
    return path.every((word, index) => this.words[index] === word)
      ? this.words[path.length]
      : undefined;
  }

  private unknownWord(path: readonly string[], word: string): LineProblem {
    const group = [this.program, ...path];
    const below = this.commands.filter(({ words }) => startsWith(words, group));
    const known = below.flatMap(({ words }) => words[group.length] ?? []);
    return { word, group, known };
  }

  private becomeGroup(node: Commander, path: readonly string[]): void {
    node.helpInformation = () => {
      const word = this.wordAfter(path); // a known word would have reached its own node
      if (word !== undefined && !word.startsWith("-"))
        throw new UnknownWord(this.unknownWord(path, word));
      this.result = this.help(path);
      return "";
    };
    node.argument("[words...]").action(([word]: readonly string[]) => {
      if (word !== undefined) throw new UnknownWord(this.unknownWord(path, word));
      this.result = this.help(path);
    });
  }

  private becomeCommand(node: Commander, command: Command): void {
    node.helpInformation = () => {
      this.result = this.help(command.words.slice(1));
      return "";
    };
    describe(node, command, this.words);
    joinJsonColumns(node, command);
    node.action(() => {
      const options = optionsGiven(node);
      const typed = typedValues(command, node.processedArgs, options);
      this.result = { kind: "run", command, typed, globals: options };
    });
  }

  /** Adds the children of a node, without flags and children of their own. */
  private grow(node: Commander, path: readonly string[], below: readonly Entry[]): void {
    node.hook("preSubcommand", (_, child) => this.prepare.get(child)?.());
    const children = new Map<string, Entry[]>();
    for (const entry of below) {
      const word = entry.words[path.length + 1];
      if (word === undefined) continue;
      children.set(word, [...(children.get(word) ?? []), entry]);
    }
    const next = this.wordAfter(path) ?? "";
    const named = children.get(next);
    if (named) return this.addChild(node, [...path, next], named);
    // Flags stand between, or it is another word: commander needs only words that the line has.
    for (const [word, entries] of children) {
      if (this.words.includes(word)) this.addChild(node, [...path, word], entries);
    }
    for (const synonym of synonymsBelow([this.program, ...path], [...children.keys()])) {
      if (this.words.includes(synonym.word)) this.addSynonym(node, path, synonym);
    }
  }

  /**
   * A child that takes everything after its word and parses the line it stands for. Longer synonyms
   * are its children: `auth`, `auth status`.
   */
  private addSynonym(node: Commander, path: readonly string[], synonym: Synonym): void {
    const child = node.command(synonym.word).argument("[words...]");
    child.helpOption(false).allowUnknownOption().passThroughOptions();
    const here = [...path, synonym.word];
    for (const longer of synonymsBelow([this.program, ...here], []))
      this.addSynonym(child, here, longer);
    child.action(() => {
      // Counted from the end, because flags may precede it; commander drops a `--` that follows it.
      const last = this.words.length - child.args.length - 1;
      const at = this.words[last] === synonym.word ? last : last - 1;
      const before = without(this.words.slice(0, at), path);
      this.result = this.parseSynonym(synonym, path, before, this.words.slice(at + 1));
    });
  }

  private parseSynonym(
    synonym: Synonym,
    path: readonly string[],
    before: readonly string[],
    after: readonly string[],
  ): ParsedLine {
    const lines = meaningOf(synonym, after);
    const named = [this.program, ...(lines.at(-1) ?? [])];
    const command = this.entries().findLast(({ words }) => startsWith(named, words))?.command;
    const writes = command && command.effect !== "reads" && !synonym.isSpelling;
    const rejection = writes && synonymError(synonym, [this.program, ...path], after);
    // Help is shown for a line that is not run.
    const line = [...before, ...lines.flat()];
    if (rejection && !line.some((word) => word === "-h" || word === "--help")) throw rejection;
    const parsed = new LineParser(this.program, line, this.commands).parse();
    if (rejection && parsed.kind === "run") throw rejection; // --help was the value of a flag
    return parsed;
  }

  private addChild(node: Commander, path: readonly string[], entries: readonly Entry[]): void {
    const word = path.at(-1) ?? "";
    const child = node.command(word);
    // A word can be a command and have commands below it: `wf logs`, `wf logs export`.
    const command = entries.find(({ words }) => words.length === path.length + 1)?.command;
    this.prepare.set(child, () => {
      this.reached = { node: child, path, command };
      if (command) this.becomeCommand(child, command);
      else {
        addSharedFlags(child);
        this.becomeGroup(child, path);
      }
      this.grow(child, path, entries);
    });
  }
}

/** The words without the first of each word of a path. */
function without(words: readonly string[], path: readonly string[]): string[] {
  const rest = [...words];
  for (const word of path) rest.splice(rest.indexOf(word), 1);
  return rest;
}

/** Adds the flags of a group, or of the program where they precede the command. */
function addSharedFlags(node: Commander): void {
  for (const flag of sharedFlags) node.addOption(optionOf(flag));
  joinJsonColumns(node);
}

function joinJsonColumns(node: Commander, command?: Command): void {
  const parseOptions = node.parseOptions.bind(node);
  node.parseOptions = (words) => parseOptions(withJsonColumns(words, node.options, command));
}

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
  const given = Object.assign({}, ...levels.map((level) => level.opts()), { verbose }) as Given;
  const { json, ...rest } = given;
  for (const [name, formats] of Object.entries(jsonFormats)) {
    if (given[name] === undefined || formats.includes(rest.output ?? "json")) continue;
    throw usage(`use either --${name} or -o ${rest.output}, not both`);
  }
  if (json === undefined) return rest;
  if (json !== "" && rest.columns !== undefined) {
    throw usage("use either --json=paths or --columns, not both");
  }
  return { ...(json !== "" && { columns: json }), ...rest, json: true };
}

/** Options as commander has them: `--json` with its columns, or an empty text. */
type Given = Omit<Globals, "json"> & Record<string, unknown> & { readonly json?: string };

function describe(node: Commander, command: Command, line: readonly string[]): void {
  // Commander counts words, so those that are required come first.
  const inOrder = [...command.positionals].sort((a, b) => Number(a.optional) - Number(b.optional));
  for (const positional of inOrder) node.argument(argumentOf(positional));
  for (const flag of namedIn(line, flagsOf(command))) node.addOption(optionOf(flag));
}

const flagsOf = (command: Command) => [...ownFlags(command), ...sharedFlagsOf(command)];

/**
 * The flags that a line may name: commander takes 0.5 ms to add all those of a command. A flag and its
 * `--no-` form come together, because commander sets a default for one without the other.
 */
function namedIn<F extends Flag>(line: readonly string[], flags: readonly F[]): F[] {
  const positive = (long: string) => long.replace(/^--no-/, "--");
  const long = line.filter((word) => word.startsWith("--"));
  const names = new Set(long.map((word) => positive(word.split("=", 1)[0] ?? "")));
  const letters = line.filter((word) => word.startsWith("-") && !word.startsWith("--")).join("");
  const isNamed = (name: string) =>
    name.startsWith("--") ? names.has(positive(name)) : letters.includes(name.slice(1));
  return flags.filter((flag) => isNamed(flag.long) || (flag.short && isNamed(flag.short)));
}

const knownFlags = (node: Commander, command: Command | undefined): readonly KnownFlag[] =>
  command
    ? flagsOf(command).map((flag) => ({
        flags: commanderUsage(flag),
        long: flag.long,
        description: flag.help,
        hidden: isAlias(flag),
      }))
    : node.options;

const commanderUsage = ({ usage }: Flag): string => usage.replace("[=", " [");
const isAlias = (flag: OwnFlag | SharedFlag): boolean => "role" in flag && flag.role === "alias";

function optionOf(flag: OwnFlag | SharedFlag): Option {
  const option = new Option(commanderUsage(flag), flag.help);
  if ("key" in flag) {
    option.attributeName = () => flag.key;
    const { read } = flag;
    if (read) option.argParser(read);
  }
  if (flag.bareValue !== undefined) option.preset(flag.bareValue);
  if (isAlias(flag)) option.hideHelp();
  return flag.repeats ? repeatable(option) : option;
}

/** Collects the values of all uses in a list. */
const repeatable = (option: Option) =>
  option.isBoolean()
    ? option
        .preset(true)
        .argParser((_: unknown, before: unknown[] | undefined) => [...(before ?? []), true])
    : option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
