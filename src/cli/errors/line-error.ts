/* Why a command line cannot be parsed, and what to type instead. */
import type { Command as Commander } from "commander";
import { usage } from "../../errors.ts";
import type { CliError } from "../../errors.ts";
import { commandLine, shownLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { listCommand, nouns } from "../../resolve/nouns.ts";
import type { Host } from "../../host/host.ts";
import { outlinesOf } from "../parse/command-list.ts";
import { usageOf } from "../parse/command.ts";
import type { Command, CommandOutline } from "../parse/command.ts";
import type { LineProblem, RejectedLine } from "../parse/parser.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import { isVerb, meantCommand, nearWord, proposal } from "./matcher.ts";
import type { Meant } from "./matcher.ts";

/** A line that commander rejects. */
interface Failure extends RejectedLine {
  /** What commander's message quotes: a flag or an argument. */
  readonly quoted: string;
  /** Those of the program. */
  readonly commands: readonly CommandOutline[];
}

interface Explanation {
  readonly message: string;
  readonly hint: string;
}

/** Commander's error codes in our words; none of its own sentences is printed. */
const explanations: Readonly<
  Record<string, (failure: Failure) => Explanation | Promise<Explanation>>
> = {
  "commander.unknownOption": unknownFlag,
  "commander.missingArgument": missingArgument,
  "commander.optionMissingArgument": missingValue,
  "commander.excessArguments": excessArguments,
};

const commandsFor = (program: string | undefined, host: Host) =>
  outlinesOf(program === "wf" ? "wf" : "kb", host);

/** The usage error for a line that cannot be parsed; it suggests the nearest valid words. */
export async function lineError(problem: LineProblem, host: Host): Promise<CliError> {
  if ("word" in problem) return unknownCommand(problem, host);
  const { error, program } = problem;
  // Only arguments can be words of another command.
  const isOfWords = error.code === "commander.excessArguments";
  const commands = isOfWords ? await commandsFor(program, host) : [];
  const quoted = /'(.*)'/s.exec(error.message)?.[1] ?? "";
  const explain = explanations[error.code] ?? invalidLine;
  const { message, hint } = await explain({ ...problem, commands, quoted });
  return usage(message, hint);
}

type UnknownCommand = Exclude<LineProblem, RejectedLine>;

/** The error for a first word that no command of the program has. */
export async function unknownWord(argv: readonly string[], host: Host): Promise<CliError> {
  const [program = "kb", word = "", ...rest] = argv;
  const known = (await commandsFor(program, host)).flatMap(({ words }) => words[1] ?? []);
  return unknownCommand({ word, group: [program], known, rest }, host);
}

async function unknownCommand(
  { word, group, known, rest }: UnknownCommand,
  host: Host,
): Promise<CliError> {
  const message = `unknown command ${JSON.stringify(word)} for ${group.join(" ")}`;
  const [program = "kb"] = group;
  const commands = await commandsFor(program, host);
  const words = [word, ...rest];
  const propose = async (meant: Meant) => usage(message, `did you mean ${await proposal(meant)}?`);
  const meant = meantCommand([...group, ...words], group.length, commands);
  if (meant) return propose(meant);
  if (group.length === 1) {
    const other = program === "kb" ? "wf" : "kb";
    const elsewhere = meantCommand([other, ...words], 1, await commandsFor(other, host));
    if (elsewhere) return propose(elsewhere);
  }
  const near = nearWord(word, known);
  if (near !== undefined) {
    const line = [...group, near];
    const found = /^(-h|--help)$/.test(rest[0] ?? "")
      ? undefined
      : meantCommand([...line, ...rest], group.length, commands);
    return found
      ? propose(found)
      : usage(message, `did you mean ${commandLine(line.join(" "), [], { help: true })}?`);
  }
  // `kb doc search`; what a program does with its own objects is never meant for others.
  const ofProgram = isVerb(word) ? undefined : meantCommand([program, ...words], 1, commands);
  if (ofProgram) return propose(ofProgram);
  const list = commandLine(group.join(" "), [], { help: true });
  return usage(message, `run ${list} to list the commands${inBrackets(known)}`);
}

/** Throws usage for an argument that is a verb of its group: `backup rm`, which would back up to `rm`, and `run list`. */
export async function requireNoVerb(problem: UnknownCommand, host: Host): Promise<void> {
  const { word, group, known } = problem;
  const commands = await commandsFor(group[0], host);
  const isMeant =
    (known.length > 0 && isVerb(word)) ||
    meantCommand([...group, word], group.length, commands) !== undefined;
  if (isMeant) throw await unknownCommand(problem, host);
}

const usageHint = ({ command, program }: Failure): string =>
  command
    ? `usage: ${usageOf(command)}`
    : `run ${commandLine(program, [], { help: true })} to list the commands`;

/** Program and words: `kb doc list`. */
const nameOf = (node: Commander): string =>
  node.parent ? `${nameOf(node.parent)} ${node.name()}` : node.name();

/** Words behind a hint, if they are few: ` (bash, zsh)`. */
function inBrackets(words: readonly string[]): string {
  const names = [...new Set(words)];
  return names.length > 0 && names.length <= 12 ? ` (${names.join(", ")})` : "";
}

const invalidLine = (failure: Failure): Explanation => ({
  message: "invalid command line",
  hint: usageHint(failure),
});

/** Names what is missing, and where to find it: `which document? <doc> is missing`. */
function missingArgument(failure: Failure): Explanation {
  const { command, node, quoted } = failure;
  const missing = command?.positionals.find(({ word }) => word === quoted);
  const param = missing && command?.params[missing.name];
  const noun = param?.noun ?? param?.listed;
  if (noun === undefined) {
    const help = param ? `; <${quoted}> is: ${param.help}` : "";
    return { message: `missing argument: <${quoted}>`, hint: `${usageHint(failure)}${help}` };
  }
  const { title, within = [] } = nouns[noun];
  const given = new Map(command?.positionals.map(({ name }, at) => [name, node.args[at]]));
  const known = within.every((name) => given.get(name) !== undefined);
  const list = known ? `; ${listCommand(nouns[noun], (name) => given.get(name))} lists them` : "";
  return {
    message: `which ${title}? <${quoted}> is missing`,
    hint: `${usageHint(failure)}${list}`,
  };
}

/** `-o, --output <format>` without a value. */
function missingValue({ node, quoted }: Failure): Explanation {
  const option = node.options.find(({ flags }) => flags === quoted);
  const flag = option?.long ?? quoted;
  const usage = quoted.replace(/^-\w, /, "");
  const help = option?.description;
  return { message: `${flag} needs a value`, hint: help ? `${usage}: ${help}` : `use ${usage}` };
}

/** Another command that takes these words, or the last argument as one text. */
async function excessArguments(failure: Failure): Promise<Explanation> {
  const { node, command, commands, words, program } = failure;
  const expected = node.registeredArguments.length;
  const message = `too many arguments: expected ${expected}, got ${node.args.length}`;
  if (!command) return { message, hint: usageHint(failure) };
  const typed = words.slice(command.words.length - 1);
  const meant = meantCommand([...command.words, ...typed], command.words.length, commands);
  const last = command.positionals.at(-1);
  const isText = last && !last.variadic && isQuotable(command, last.name);
  if (meant && program === meant.command.words[0])
    return { message, hint: `did you mean ${await proposal(meant)}?` };
  if (node.opts()["json"] === true && node.args.length === expected + 1) {
    const line = commandLine(command.words.join(" "), node.args.slice(0, -1), {
      json: true,
      columns: node.args.at(-1),
    });
    return { message, hint: `--json takes no columns; if these are columns: ${line}` };
  }
  if (!isText) return { message, hint: usageHint(failure) };
  const text = node.args.slice(expected - 1).join(" ");
  const line = shownLine([...command.words, ...node.args.slice(0, expected - 1), text]);
  return { message, hint: `quote text with spaces: ${line}` };
}

/** May words too many be one name or query without its quotes? Of writes, no other name is proposed. */
function isQuotable({ params, effect }: Command, name: string): boolean {
  const { kind, noun } = params[name] ?? {};
  const isText = kind === "text" && /name|query/.test(name);
  return isText || (effect === "reads" && noun !== undefined);
}

/** Flags that would put a key where others can read it. */
const keyFlags = ["--api-key", "--key", "--token", "--password", "--app-key", "--secret"];

function unknownFlag(failure: Failure): Explanation {
  const { node, command, quoted, program } = failure;
  const [typed = ""] = /^--[^=]*|^-./.exec(quoted) ?? [];
  const message = `unknown flag: ${typed}`;
  const flag = typed.replaceAll("_", "-");
  // The node of a command has only the flags that its line names.
  const flags = command ? flagsOf(command) : [];
  const known = command
    ? flags.map(({ long }) => long)
    : node.options.flatMap(({ long, hidden }) => (hidden ? [] : (long ?? [])));
  if (quoted.includes("=") && known.includes(flag))
    return { message: `${flag} takes no value`, hint: `use ${flag} or ${negated(flag)}` };
  if (keyFlags.includes(flag)) return { message, hint: keyHint(known, program) };
  const instead = own(command?.task?.instead, flag);
  if (instead !== undefined) return { message, hint: instead };
  const isArgument = command?.positionals.some(
    ({ word, name }) =>
      `--${word.replaceAll("_", "-")}` === flag || command.params[name]?.meant?.includes(flag),
  );
  if (isArgument) return { message, hint: `it is an argument: ${usageHint(failure)}` };
  if (known.includes(negated(flag)) && !known.includes(flag))
    return { message, hint: `that is the default, which ${negated(flag)} turns off` };
  const listed = flags.find(({ meant }) => meant?.includes(flag));
  const near = listed?.long ?? didYouMean(flag, [...known, "--help"]);
  if (near !== undefined) return { message, hint: `did you mean ${near}?` };
  const help = commandLine(nameOf(node), [], { help: true });
  const names = command ? ownFlags(command).map(({ long }) => long) : [];
  return { message, hint: `run ${help} to list the flags${inBrackets(names)}` };
}

const negated = (flag: string): string => flag.replace(/^--(no-)?/, "--no-");

/** How a key is given without others on the machine reading it. */
const keyHint = (known: readonly string[], program: string): string =>
  known.includes("--key-file")
    ? "use --key-file FILE (- for stdin) or --key-command COMMAND"
    : `store keys with ${commandLine(`${program} login`)}, or set ${program === "kb" ? "KB_KEY" : "KB_APP_KEY"}: others on this machine could read them here`;
