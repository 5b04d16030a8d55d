import { Command as Commander, CommanderError, Option } from "commander";
import { CliError } from "../../errors.ts";
import type { Param } from "../../operations/operation.ts";
import { argumentOf, flagOf, flagged, placeholder, valueOf } from "./command.ts";
import type { Command } from "./command.ts";
import { globalFlags, globalsOf } from "./shared-flags.ts";
import type { GlobalFlag, Globals } from "./shared-flags.ts";
import { helpFor, usageOf } from "../help/help.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";

/** A value as typed: a word, several, yes or no, or the path of a file that holds the text. */
export type TypedLine = string | readonly string[] | boolean | { readonly file: string };

/** What a command line asks for, not yet checked. */
export type ParsedLine =
  | {
      readonly kind: "run";
      readonly command: Command;
      /** By parameter name. */
      readonly typed: Readonly<Record<string, TypedLine>>;
      readonly globals: Globals;
    }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" };

/**
 * Reads a command line (`["kb", "create", "Handbook"]`) by the commands of its program. Commander
 * only parses: nothing runs here. Throws usage with the nearest valid word.
 */
export function parseLine(argv: readonly string[], commands: readonly Command[]): ParsedLine {
  const [program = "kb", ...words] = argv;
  let result: ParsedLine | undefined;
  let shown = "";
  const root = new Commander(program)
    .exitOverride()
    .configureOutput({ writeOut: (text) => (shown += text), writeErr: () => {} })
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption("-h, --help", "Show help")
    .version("", "-V, --version");
  // Shared flags stand before the subcommand, too: `kb -p staging list`. Seldom, and making all takes
  // longer than the rest.
  if (words[0]?.startsWith("-")) for (const flag of globalFlags) root.addOption(optionOf(flag));

  const prepared = new Map<Commander, () => void>();
  /** The word of the line that follows a path; undefined where flags stand between. */
  const wordAfter = (path: readonly string[]) =>
    path.every((word, index) => words[index] === word) ? words[path.length] : undefined;
  const asGroup = (commander: Commander, path: readonly string[]) => {
    const text = () => helpFor(program, path, commands);
    commander.helpInformation = () => {
      const word = wordAfter(path); // a known one would have been asked for its own help
      if (word === undefined || word.startsWith("-")) return text();
      throw unknownWord(commander, program, [...path, word]);
    };
    commander.argument("[words...]").action(([word]: readonly string[]) => {
      if (word !== undefined) throw unknownWord(commander, program, [...path, word]);
      result = { kind: "help", text: text() };
    });
  };
  let used: Command | undefined;
  const asCommand = (commander: Commander, command: Command) => {
    used = command;
    commander.helpInformation = () => helpFor(program, command.words.slice(1), commands);
    describe(commander, command);
    commander.action(() => {
      const given = optionsGiven(commander);
      result = { kind: "run", command, typed: typedFor(command, commander, given), globals: given };
    });
  };
  /**
   * Adds the words that may follow, or only the one that does; their flags and what follows them only
   * once one is used: making all takes longer than the rest.
   */
  const grow = (commander: Commander, path: readonly string[], below: readonly Command[]) => {
    commander.hook("preSubcommand", (_, child) => prepared.get(child)?.());
    const following = new Map<string, Command[]>();
    for (const command of below) {
      const word = command.words[path.length + 1];
      if (word === undefined) continue;
      const known = following.get(word);
      if (known) known.push(command);
      else following.set(word, [command]);
    }
    const next = wordAfter(path);
    const only = [...following].filter(([word]) => word === next);
    for (const [word, those] of only.length > 0 ? only : following) {
      const child = commander.command(word);
      const at = [...path, word];
      // A word may be a command and have commands below it: `wf completion bash`, `wf completion create`.
      const own = those.find(({ words }) => words.length === at.length + 1);
      const alias = own && aliases[word];
      if (alias) child.alias(alias);
      prepared.set(child, () => {
        if (own) asCommand(child, own);
        else {
          for (const flag of globalFlags) child.addOption(optionOf(flag));
          asGroup(child, at);
        }
        grow(child, at, those);
      });
    }
  };
  asGroup(root, []);
  grow(root, [], commands);

  try {
    root.parse([...words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed" || error.code === "commander.help") {
      return { kind: "help", text: shown };
    }
    if (error.code === "commander.version") return { kind: "version" };
    throw usageError(error, used, program);
  }
  if (!result) return { kind: "help", text: helpFor(program, [], commands) };
  return result;
}

/** Hidden short forms of verbs. */
export const aliases: Readonly<Record<string, string>> = { list: "ls", delete: "rm" };

/** Options given to a command and its groups; the one nearest to the command wins. */
function optionsGiven(leaf: Commander): Globals & Record<string, unknown> {
  const levels: Commander[] = [];
  for (let at: Commander | null = leaf; at; at = at.parent) levels.unshift(at);
  const verbose = levels.flatMap(
    (level) => (level.opts()["verbose"] as unknown[] | undefined) ?? [],
  );
  return Object.assign({}, ...levels.map((level) => level.opts()), { verbose });
}

function optionOf({ flags, help, repeats, as }: GlobalFlag): Option {
  const option = new Option(flags, help);
  if (as !== undefined) option.attributeName = () => as;
  return repeats ? repeating(option) : option;
}

/** Every use adds to a list. */
const repeating = (option: Option) =>
  option.isBoolean()
    ? option
        .preset(true)
        .argParser((_: unknown, before: unknown[] | undefined) => [...(before ?? []), true])
    : option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);

function describe(leaf: Commander, command: Command): void {
  const own = new Set<string>();
  for (const positional of command.positionals) leaf.argument(argumentOf(positional));
  for (const [name, param] of flagged(command)) {
    for (const option of paramOptions(name, param)) {
      leaf.addOption(option);
      own.add(option.long ?? "");
    }
  }
  for (const flag of globalsOf(command)) {
    const option = optionOf(flag);
    if (!own.has(option.long ?? "")) leaf.addOption(option);
  }
}

function paramOptions(name: string, param: Param): Option[] {
  const flag = flagOf(name, param);
  const short = param.short === undefined ? "" : `-${param.short}, `;
  if (param.kind === "flag") {
    const yes = new Option(`${short}--${flag}`, param.help);
    return param.in === "local" ? [yes] : [yes, new Option(`--no-${flag}`)];
  }
  const option = new Option(`${short}--${flag}${valueOf(param)}`, param.help);
  if (param.bareValue !== undefined) option.preset(param.bareValue);
  if (param.many) repeating(option);
  const aliases = (param.aliases ?? []).map((alias) =>
    new Option(`--${alias} <${placeholder(param)}>`).hideHelp(),
  );
  if (!param.orFile) return [option, ...aliases];
  return [
    option,
    ...aliases,
    new Option(`--${flag}-file <path>`, `${param.help}, from a file; - is standard input`),
  ];
}

const camel = (flag: string) => flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

function typedFor(
  command: Command,
  leaf: Commander,
  given: Readonly<Record<string, unknown>>,
): Record<string, TypedLine> {
  const typed: Record<string, TypedLine> = {};
  command.positionals.forEach(({ name }, index) => {
    const value = leaf.processedArgs[index] as TypedLine | undefined; // commander types them as any
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) typed[name] = value;
  });
  for (const [name, param] of flagged(command)) {
    const flag = flagOf(name, param);
    // Commander reads `--no-x` as x = false. Values were written by the options made above.
    const value = (
      param.kind === "flag" && flag.startsWith("no-")
        ? given[camel(flag.slice(3))] === false || undefined
        : given[camel(flag)]
    ) as TypedLine | undefined;
    if (value !== undefined) typed[name] = value;
    for (const alias of param.aliases ?? []) {
      const other = given[camel(alias)];
      if (other === undefined) continue;
      if (value !== undefined) {
        throw new CliError("usage", `--${alias} is another name of --${flag}: give one of them`);
      }
      typed[name] = String(other);
    }
    const file = param.orFile ? given[camel(`${flag}-file`)] : undefined;
    if (file === undefined) continue;
    if (value !== undefined) {
      throw new CliError("usage", `give either --${flag} or --${flag}-file, not both`);
    }
    typed[name] = { file: String(file) };
  }
  return typed;
}

function unknownWord(commander: Commander, program: string, path: readonly string[]): CliError {
  const names = commander.commands.map((child) => child.name());
  const near = didYouMean(path.at(-1) ?? "", names);
  const group = [program, ...path.slice(0, -1)].join(" ");
  return new CliError("usage", `"${path.at(-1)}" is no command of ${group}`, {
    hint: near ? `did you mean \`${group} ${near}\`?` : `\`${group} --help\` lists the commands`,
  });
}

/** Commander's refusal in our words: what is wrong, the nearest word, the usage. */
function usageError(
  error: CommanderError,
  command: Command | undefined,
  program: string,
): CliError {
  const [first = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = /\(Did you mean (?:one of )?(.*)\?\)/.exec(rest.join("\n"))?.[1];
  const usage = command ? usageOf(command) : `${program} --help`;
  return new CliError("usage", first, {
    hint: suggestion
      ? `did you mean ${suggestion}?`
      : command
        ? `usage: ${usage}`
        : `try \`${usage}\``,
  });
}
