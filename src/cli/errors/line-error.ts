import { CliError, usage } from "../../errors.ts";
import { commandLine, shownLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { isFileName, isPath } from "../../lib/text.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandsOf } from "../parse/command-list.ts";
import { flagParams } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { excessArguments, fillers, linesWithArguments } from "./excess-arguments.ts";
import { inBrackets, usageHint } from "./failure.ts";
import type { Explanation, Failure } from "./failure.ts";
import { unknownFlag } from "./flag-error.ts";
import {
  argumentsOfFlags,
  atFlags,
  finished,
  requiredFlagsLeft,
  withKb,
  withOurFlagsOnly,
  withoutUnknownFlags,
} from "./argument-places.ts";
import { takesPath } from "./elsewhere.ts";
import { groupOfNoun, isVerb } from "./words-elsewhere.ts";
import {
  listBeside,
  lineOfArguments,
  lineOfNoun,
  lineOfVerb,
  lineOfWords,
  lineWithNameFirst,
  listOfMissing,
  meantLine,
  parted,
} from "./meant-line.ts";
import { listCommand, nouns } from "../../resolve/nouns.ts";
import { parseLine } from "../parse/parser.ts";
import type { LineProblem, RejectedLine } from "../parse/parser.ts";

/** Commander's error codes in our words; none of its own sentences is printed. */
const explanations: Readonly<Record<string, (failure: Failure) => Explanation>> = {
  "commander.unknownOption": unknownFlag,
  "commander.missingArgument": missingArgument,
  "commander.optionMissingArgument": missingValue,
  "commander.excessArguments": excessArguments,
};

const commandsFor = (program: string | undefined) => commandsOf(program === "wf" ? "wf" : "kb");

/**
 * The usage error for a line that cannot be parsed; it suggests the nearest valid words. Arguments that name a
 * directory are told from other names by `isDirectory`.
 */
export async function lineError(
  problem: LineProblem,
  isDirectory: (path: string) => Promise<boolean> = () => Promise.resolve(false),
): Promise<CliError> {
  if ("word" in problem) {
    const marks = takesPath(problem.group[0] ?? "", problem.word);
    const written = async (word: string) =>
      marks && !isPath(word) && (await isDirectory(word)) ? `${word}/` : word;
    const rest = problem.rest.filter((each) => !fillers.includes(each));
    return unknownCommand({ ...problem, rest: await Promise.all(rest.map(written)) });
  }
  const { error, program } = problem;
  // Only arguments can be those of another command, or what one lists.
  const isOfWords = /^commander\.(excess|missing)Argument/.test(error.code);
  const commands = isOfWords ? await commandsFor(program) : [];
  const [only = "", ...others] = problem.node.args;
  const isOne = error.code === "commander.missingArgument" && only !== "" && others.length === 0;
  const directory = isOne && !isPath(only) && (await isDirectory(only)) ? `${only}/` : undefined;
  const quoted = /'(.*)'/s.exec(error.message)?.[1] ?? "";
  const failure = { ...problem, commands, quoted, directory };
  const explain = explanations[error.code] ?? invalidLine;
  const { message, hint } = explain(failure);
  return usage(message, hint);
}

type UnknownCommand = Exclude<LineProblem, RejectedLine>;

async function unknownCommand(problem: UnknownCommand): Promise<CliError> {
  if (isForConsole(problem))
    return usage(unknownText(problem), consoleHint(problem.group[0] ?? "kb"));
  const hint = await lineHint(await meantByUnknown(problem), problem);
  return usage(unknownText(problem), hint);
}

/** Throws usage for an argument of a command that is a verb of its group or noun: `backup rm`, `run list`. */
export async function requireNoVerb(problem: UnknownCommand): Promise<void> {
  const { word, group, rest } = problem;
  const [program = "kb", noun = ""] = group;
  const commands = await commandsFor(program);
  const objects = problem.known.length > 0 ? group : (groupOfNoun(program, noun) ?? group);
  const takesRun = commands.some(
    ({ words, positionals: [first] }) =>
      words.join(" ") === `${program} ${word}` && ["run", "task"].includes(first?.word ?? ""),
  );
  const isOwn = lineOfWords(program, [...group.slice(1), word]) !== undefined;
  const isWord =
    isOwn || isVerb(word) || lineOfWords(program, [...objects.slice(1), word]) !== undefined;
  const isOther = isWord || (takesRun && objects !== group);
  const words = [word, ...rest];
  const meant = isOther ? lineOfVerb(isOwn ? group : objects, words, commands) : undefined;
  if (meant) throw usage(unknownText(problem), await lineHint(meant, problem));
  if (objects !== group && isConsoleWord(program, word))
    throw usage(unknownText(problem), consoleHint(program));
}

const unknownText = ({ word, group }: UnknownCommand): string =>
  `unknown command ${JSON.stringify(word)} for ${group.join(" ")}`;

/** What a suggested command does not do, for all typed words or for some. */
const limits: readonly {
  readonly line: string;
  readonly typed?: readonly string[];
  readonly text: string;
}[] = [
  {
    line: "kb heal",
    text: `It indexes again only what failed; a document is indexed again by ${commandLine("kb doc replace", ["KB", "DOC", "FILE"])}`,
  },
  {
    line: "kb doc download",
    typed: ["mv", "move", "cp", "copy"],
    text: `The file is then added to the other by ${commandLine("kb doc upload", ["KB", "FILE"])}`,
  },
];

/**
 * Shows the line, and what lists the first word in capitals that stands for a missing one. Where it has too many
 * arguments, it is the hint for that.
 */
async function lineHint(
  meant: readonly string[] | undefined,
  { group, word, rest, known }: UnknownCommand,
): Promise<string> {
  if (meant === undefined)
    return `run ${commandLine(group.join(" "), [], { help: true })} to list the commands${inBrackets(known)}`;
  const commands = await commandsFor(meant[0]);
  const problem = problemOf(meant, commands);
  if (problem && "error" in problem && problem.error.code === "commander.excessArguments") {
    // `config get base_url`, `workspaces current`: it shows all.
    const { positionals = [], words = [] } = problem.command ?? {};
    const isPlain =
      words.at(-1) === "list" || (problem.command && flagParams(problem.command).length === 0);
    if (problem.command && positionals.length === 0 && isPlain)
      return `did you mean ${shownLine(problem.command.words)}?`;
    return (await lineError(problem)).info.hint ?? "";
  }
  // `skill list`, where skill has no list
  if (problem && "word" in problem)
    return `did you mean ${shownLine([...problem.group, "--help"])}?`;
  const { line, lost } = withFlagsMended(meant, commands);
  const list = listOfMissing(line, [word, ...rest], commands);
  const limit = limits.find(
    ({ line, typed }) =>
      `${meant.join(" ")} `.startsWith(`${line} `) && (typed?.includes(word) ?? true),
  );
  const further = [
    ...(lost.length > 0 ? [`It has no ${lost.join(", ")}`] : []),
    ...(limit ? [limit.text] : []),
    ...(list === undefined ? [] : [`${list} lists them`]),
  ];
  return `did you mean ${shownLine(line)}? ${further.join(". ")}`.trimEnd();
}

/**
 * A suggested line with our flags and values for those of other programs, words in capitals for missing arguments,
 * and the flags that it has lost.
 */
function withFlagsMended(line: readonly string[], commands: readonly Command[]) {
  const { command, args } = parted(line, commands);
  if (!command) return { line, lost: [] };
  const placed = argumentsOfFlags(command, args) ?? args;
  const mended = withOurFlagsOnly(command, placed);
  const known = mended ? { args: mended, unknown: [] } : withoutUnknownFlags(command, placed);
  const whole = finished(command, withMissing(command, known.args, commands));
  const isHelp = whole.args.some((arg) => ["--help", "-h", "--each"].includes(arg));
  const isOther = isHelp || whole.words !== command.words;
  const left = Object.entries(isOther ? {} : requiredFlagsLeft(command, whole.args));
  const flags = left.flatMap(([flag, value]) => [`--${flag}`, value]);
  return { line: [...whole.words, ...whole.args, ...flags], lost: known.unknown };
}

/** Arguments with words in capitals for those that are missing, before the flags. */
function withMissing(command: Command, args: readonly string[], commands: readonly Command[]) {
  const problem = problemOf([...command.words, ...args], commands);
  if (!problem || "word" in problem || problem.error.code !== "commander.missingArgument")
    return args;
  const required = command.positionals.filter(({ optional }) => !optional);
  const missing = required.slice(problem.node.args.length).map(({ word }) => word.toUpperCase());
  const [words, flags] = atFlags(args);
  return [...words, ...missing, ...flags];
}

/** Why a suggested line cannot be parsed, if it cannot. */
function problemOf(line: readonly string[], commands: readonly Command[]): LineProblem | undefined {
  try {
    const parsed = parseLine(line, commands);
    return parsed.kind === "invalid" ? parsed.problem : undefined;
  } catch {
    return undefined; // flags that exclude each other
  }
}

/** The line that an unknown word is meant for. */
async function meantByUnknown({ word, group, known, rest }: UnknownCommand) {
  const [program = "kb"] = group;
  const words = [word, ...rest];
  const commands = await commandsFor(program);
  const near = nearWord(word, known);
  const nearLine = near === undefined ? undefined : [...group, near].join(" ");
  const hasArgument = rest[0] !== undefined && !rest[0].startsWith("-");
  const withRest = hasArgument ? own(linesWithArguments, nearLine ?? "") : undefined;
  return (
    meantLine(group, words, commands) ??
    (await inOtherProgram(words, group)) ??
    (nearLine === undefined ? undefined : [...(withRest ?? nearLine).split(" "), ...rest]) ??
    lineWithNameFirst(group, words, commands) ??
    lineOfArguments(group, words, commands)
  );
}

/** The nearest word, unless the typed one goes far beyond it. */
function nearWord(word: string, known: readonly string[]): string | undefined {
  const near = didYouMean(word, known);
  return near === undefined || word.length - near.length > 2 ? undefined : near;
}

/** Words for work of each program that the service API does not offer: the web console does. */
const consoleWords: Readonly<Record<string, readonly string[]>> = {
  kb: ["members", "pause", "resume"],
  wf: "create new edit update import export copy clone delete rm publish deploy design schedule webhook pause".split(
    " ",
  ),
};

/** Is this done in the web console only: `wf publish`, `wf app create`, `wf delete app`, `kb members`? */
function isForConsole({
  word,
  group: [program = "kb", ...path],
  rest: [next = ""],
}: UnknownCommand) {
  const isApp = (noun: string) => groupOfNoun("wf", noun)?.[1] === "app";
  if (path.length > 0) {
    const isOfConsole = program === "kb" || isApp(path.join(" "));
    return isOfConsole && isConsoleWord(program, word);
  }
  const isOther = (groupOfNoun(program, next)?.length ?? 0) > 1 && !isApp(next);
  // `export echo` names an application, and `export runs.jsonl` a file.
  const namesFile = next === "" || isPath(next) || isFileName(next);
  const isOurs = lineOfWords(program, [word]) !== undefined && namesFile;
  if (isConsoleWord(program, word)) return !isOther && !isOurs;
  return program === "wf" && isApp(word) && isConsoleWord(program, next);
}

const isConsoleWord = (program: string, word: string): boolean =>
  consoleWords[program]?.includes(word) === true;

const consoleHint = (program: string): string =>
  `the service API does not offer this; the web console does: ${commandLine(`${program} open`)}`;

/** `kb logs` is a command of wf; what either program does with its own objects is never meant. */
async function inOtherProgram(words: readonly string[], [program, ...path]: readonly string[]) {
  const [word = ""] = words;
  if (path.length > 0 || isConsoleWord(program ?? "kb", word)) return undefined;
  const other = program === "kb" ? "wf" : "kb";
  const commands = await commandsOf(other);
  if (commands.some((command) => command.words.join(" ") === `${other} ${word}`))
    return [other, ...words];
  const byNoun = lineOfNoun([other], words, commands);
  const isGroup = commands.some((command) => command.words[1] === word);
  return byNoun ?? (isGroup ? [other, ...words] : undefined);
}

const invalidLine = (failure: Failure): Explanation => ({
  message: "invalid command line",
  hint: usageHint(failure),
});

/** Names what is missing, and where to find it: `which document? (missing <doc>)`. */
function missingArgument(failure: Failure): Explanation {
  const { command, node, quoted, directory } = failure;
  const missing = command?.positionals.find(({ word }) => word === quoted);
  const param = missing && command?.params[missing.name];
  const noun = param?.noun ?? param?.listed;
  const withBase = command && withKb(command, directory === undefined ? node.args : [directory]);
  if (withBase && quoted === "query" && /^\p{Lu}\S*$/u.test(node.args[0] ?? ""))
    return {
      message: `missing argument: <${quoted}>`,
      hint: shownLine([...command.words, ...node.args, quoted.toUpperCase()]),
    };
  if (withBase && quoted === "query") {
    const hint = `${usageHint(failure)}; if this is the query: ${shownLine(withBase)}`;
    return { message: `missing argument: <${quoted}>`, hint };
  }
  if (withBase) {
    // `Handbook/leave.md`
    const [, base = "", file = ""] = /^([^/.][^/]*)\/(.+)$/.exec(node.args[0] ?? "") ?? [];
    const isOpen = withBase.includes("KB");
    const parted = command && isOpen && file !== "" ? [...command.words, base, file] : undefined;
    const either = parted ? `; if ${base} is one: ${shownLine(parted)}` : "";
    return {
      message: `which ${nouns.kb.title}? <kb> is missing`,
      hint: `${shownLine(withBase)}; ${commandLine("kb list")} lists them${either}`,
    };
  }
  if (noun === undefined) {
    const isNew = command?.words.at(-1) === "create";
    const isFirst = command?.positionals[0]?.word === quoted;
    const list = command && isFirst && !isNew ? listBeside(command, failure.commands) : undefined;
    const listed = list === undefined ? "" : `; ${list} lists them`;
    const help = param && !listed ? `; <${quoted}> is: ${param.help}` : listed;
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
