import { CliError, usage } from "../../errors.ts";
import { commandLine, shownLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { isFileName, isPath } from "../../lib/text.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandsOf } from "../parse/command-list.ts";
import type { Command } from "../parse/command.ts";
import { flagsOf } from "../parse/shared-flags.ts";
import { choiceFlag, excessArguments, linesWithArguments } from "./excess-arguments.ts";
import { nameOf, usageHint } from "./failure.ts";
import type { Explanation, Failure } from "./failure.ts";
import { flagElsewhere, keyFlags } from "./flags-elsewhere.ts";
import {
  groupOfNoun,
  isVerb,
  lineOfArguments,
  lineOfNoun,
  lineOfVerb,
  lineOfWords,
  listOfMissing,
  meantLine,
  withKb,
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

/** The usage error for a line that cannot be parsed; it suggests the nearest valid words. */
export async function lineError(problem: LineProblem): Promise<CliError> {
  if ("word" in problem) return unknownCommand(problem);
  const { error, program } = problem;
  // Only words can be those of another command.
  const isOfWords = error.code === "commander.excessArguments";
  const commands = isOfWords ? await commandsFor(program) : [];
  const failure = { ...problem, commands, quoted: /'(.*)'/s.exec(error.message)?.[1] ?? "" };
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

/** What a suggested command does not do, where a word may mean more. */
const limits: Readonly<Record<string, string>> = {
  "kb heal": "It indexes again only what failed; a document is indexed again by",
};

/**
 * Shows the line, and what lists the first word in capitals that stands for a missing one. Where it has too many
 * arguments, it is the hint for that.
 */
async function lineHint(
  meant: readonly string[] | undefined,
  { group, word, rest }: UnknownCommand,
): Promise<string> {
  if (meant === undefined)
    return `run ${commandLine(group.join(" "), [], { help: true })} to list the commands`;
  const commands = await commandsFor(meant[0]);
  const problem = problemOf(meant, commands);
  if (problem && "error" in problem && problem.error.code === "commander.excessArguments")
    return (await lineError(problem)).info.hint ?? "";
  const list = listOfMissing(meant, [word, ...rest], commands);
  const limit = own(limits, meant.slice(0, 2).join(" "));
  const again = limit && ` ${limit} ${commandLine("kb doc replace", ["KB", "DOC", "FILE"])}`;
  return `did you mean ${shownLine(meant)}?${again ?? ""}${list === undefined ? "" : ` ${list} lists them`}`;
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
  kb: ["members", "pause"],
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
  if (path.length > 0)
    return program === "wf" && isApp(path.join(" ")) && isConsoleWord(program, word);
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
  const { command, node, quoted } = failure;
  const missing = command?.positionals.find(({ word }) => word === quoted);
  const param = missing && command?.params[missing.name];
  const noun = param?.noun ?? param?.listed;
  const withBase = command && withKb(command, node.args);
  if (withBase && quoted === "query") {
    const hint = `${usageHint(failure)}; if this is the query: ${shownLine(withBase)}`;
    return { message: `missing argument: <${quoted}>`, hint };
  }
  if (withBase) {
    return {
      message: `which ${nouns.kb.title}? <kb> is missing`,
      hint: `${shownLine(withBase)}; ${commandLine("kb list")} lists them`,
    };
  }
  if (noun === undefined)
    return { message: `missing argument: <${quoted}>`, hint: usageHint(failure) };
  const { title, within = [] } = nouns[noun];
  const given = new Map(command?.positionals.map(({ name }, at) => [name, node.args[at]]));
  const known = within.every((name) => given.get(name) !== undefined);
  const list = known ? `; ${listCommand(nouns[noun], (name) => given.get(name))} lists them` : "";
  return {
    message: `which ${title}? <${quoted}> is missing`,
    hint: `${usageHint(failure)}${list}`,
  };
}

/** Where other programs write to a file. */
const outputFlags = ["--out", "--outfile", "--output-file"];

function unknownFlag(failure: Failure): Explanation {
  const { node, command, program } = failure;
  // Its value may be a key: `--token=x`, `-n3`.
  const [quoted = ""] = /^--[^=]*|^-./.exec(failure.quoted) ?? [];
  const message = `unknown flag: ${quoted}`;
  // The node of a command has only the flags that its line names.
  const all = command ? flagsOf(command) : node.options.filter(({ hidden }) => !hidden);
  const known = all.flatMap(({ long }) => long ?? []);
  // `-app chat`
  const long = `-${/^-\w{2,}/.exec(failure.quoted)?.[0] ?? ""}`;
  if (known.includes(long)) return { message, hint: `did you mean ${long}?` };
  const isOutput = outputFlags.includes(quoted);
  if (isOutput && !known.includes("--output-dir") && !known.includes("--dir"))
    return { message, hint: "results are written to stdout: add > FILE" };
  if (keyFlags.includes(quoted) && known.includes("--key-file"))
    return { message, hint: "use --key-file FILE (- for stdin) or --key-command COMMAND" };
  if (keyFlags.includes(quoted) && !known.includes(quoted))
    return {
      message,
      hint: `store keys with ${commandLine(`${program} login`)}, or set ${program === "kb" ? "KB_KEY" : "KB_APP_KEY"}: others on this machine could read them here`,
    };
  const off = quoted.replace(/^--(no-)?/, "--no-");
  if (failure.quoted.includes("=") && known.includes(quoted))
    return { message: `${quoted} takes no value`, hint: `use ${quoted} or ${off}` };
  if (known.includes(off)) return { message, hint: `that is the default, which ${off} turns off` };
  const isArgument = command?.positionals.some(({ word }) => `--${word}` === quoted);
  if (isArgument) return { message, hint: `it is an argument: ${usageHint(failure)}` };
  const takesFile = command?.positionals.some(({ word }) => word === "file");
  if (takesFile && ["-f", "--file", "--filename"].includes(quoted))
    return { message, hint: usageHint(failure) };
  const same = (isOutput && known.find((flag) => flag === "--dir")) || flagElsewhere(quoted, known);
  const ofLists = ["--all", "-L", "--limit", "--page"].includes(quoted);
  if (command && !same && ofLists && !command.pages)
    return { message, hint: `it is for commands that list; ${usageHint(failure)}` };
  const near = same || (quoted.startsWith("--") && didYouMean(quoted, [...known, "--help"]));
  if (near) return { message, hint: `did you mean ${near}?` };
  const value = quoted.replace(/^--?/, "");
  const choice = command && choiceFlag(command, value);
  if (choice !== undefined) return { message, hint: `did you mean --${choice} ${value}?` };
  if (command?.words[1] === "api" && /^(-X|--method|--request)/.test(failure.quoted))
    return { message, hint: `the method comes first: ${requestLine(failure)}` };
  const follows = ["--wait", "--follow", "--stream"].includes(quoted);
  if (follows && command?.words.join(" ") === "wf run")
    return { message, hint: "that is the default; --detach starts the run and ends" };
  if (quoted === "--wait" && command?.words[1] === "doc")
    return { message, hint: `it does not wait; then run ${commandLine("kb doc wait", ["KB"])}` };
  const opens = command?.positionals[0]?.name === "dataset_id" && quoted === "--web";
  if (opens)
    return { message, hint: `did you mean ${commandLine("kb open", node.args.slice(0, 1))}?` };
  const help = commandLine(nameOf(node), [], { help: true });
  const takesInputs = command?.params["input"]?.placeholder === "name=value";
  const inputs = takesInputs ? "inputs of the application are NAME=VALUE; " : "";
  return { message, hint: `${inputs}run ${help} to list the flags` };
}

/** The line for `api -X POST /datasets`. */
function requestLine({ program, node, quoted }: Failure): string {
  const words = node.args.filter((word) => !word.startsWith("-"));
  const [, attached] = /^(?:-X|--\w+=)([A-Z]+)$/.exec(quoted) ?? [];
  const method = attached ?? words.find((word) => /^[A-Z]+$/.test(word)) ?? "POST";
  const path = words.find((word) => word !== method) ?? "PATH";
  return commandLine(`${program} api`, [method, path]);
}

/** `-o, --output <format>` without a value. */
function missingValue({ node, quoted }: Failure): Explanation {
  const option = node.options.find(({ flags }) => flags === quoted);
  const flag = option?.long ?? quoted;
  const usage = quoted.replace(/^-\w, /, "");
  const help = option?.description;
  return { message: `${flag} needs a value`, hint: help ? `${usage}: ${help}` : `use ${usage}` };
}
