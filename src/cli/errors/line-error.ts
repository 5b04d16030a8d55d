import type { Command as Commander } from "commander";
import { CliError, usage } from "../../errors.ts";
import { commandLine, shownLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandGroups } from "../help/groups.ts";
import { commandsOf } from "../parse/command-list.ts";
import { usageOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import {
  consoleWords,
  flagElsewhere,
  groupOfNoun,
  isVerb,
  keyFlags,
  linesForFiles,
  linesWithArguments,
} from "./elsewhere.ts";
import {
  lineOfArguments,
  lineOfNoun,
  lineOfVerb,
  lineOfVerbAndNoun,
  listOfMissing,
  meantLine,
  withQuery,
} from "./meant-line.ts";
import { listCommand, nouns } from "../../resolve/nouns.ts";
import type { LineProblem, RejectedLine } from "../parse/parser.ts";

interface Failure extends RejectedLine {
  /** What commander's message quotes: a flag or an argument. */
  readonly quoted: string;
  /** Those of the program. */
  readonly commands: readonly Command[];
}

interface Explanation {
  readonly message: string;
  readonly hint: string;
}

/** Commander's error codes in our words; none of its own sentences is printed. */
const explanations: Readonly<Record<string, (failure: Failure) => Explanation>> = {
  "commander.unknownOption": unknownFlag,
  "commander.missingArgument": missingArgument,
  "commander.optionMissingArgument": missingValue,
  "commander.excessArguments": excessArguments,
};

/** The usage error for a line that cannot be parsed; it suggests the nearest valid words. */
export async function lineError(problem: LineProblem): Promise<CliError> {
  if ("word" in problem) return unknownCommand(problem);
  const { error, program } = problem;
  const commands = await commandsOf(program === "wf" ? "wf" : "kb");
  const failure = { ...problem, commands, quoted: /'(.*)'/s.exec(error.message)?.[1] ?? "" };
  const explain = explanations[error.code] ?? invalidLine;
  const { message, hint } = explain(failure);
  return usage(message, hint);
}

type UnknownCommand = Exclude<LineProblem, RejectedLine>;

async function unknownCommand(problem: UnknownCommand): Promise<CliError> {
  return usage(
    unknownText(problem),
    isForConsole(problem)
      ? `the service API does not offer this; the web console does: ${commandLine("wf open")}`
      : await lineHint(await meantByUnknown(problem), problem),
  );
}

/** Throws usage for an argument of a command that is a verb of its group or noun: `backup rm`, `run list`. */
export async function requireNoVerb(problem: UnknownCommand): Promise<void> {
  const { word, group } = problem;
  const [program = "kb", noun = ""] = group;
  const commands = await commandsOf(program === "wf" ? "wf" : "kb");
  const objects = problem.known.length > 0 ? group : (groupOfNoun(program, noun) ?? group);
  const meant = isVerb(word) ? lineOfVerb(objects, [word], commands) : undefined;
  if (meant) throw usage(unknownText(problem), await lineHint(meant, problem));
}

const unknownText = ({ word, group }: UnknownCommand): string =>
  `unknown command ${JSON.stringify(word)} for ${group.join(" ")}`;

/** Shows the line, and what lists the first word in capitals that stands for a missing one. */
async function lineHint(
  meant: readonly string[] | undefined,
  { group, word, rest }: UnknownCommand,
): Promise<string> {
  if (meant === undefined)
    return `run ${commandLine(group.join(" "), [], { help: true })} to list the commands`;
  const commands = await commandsOf(meant[0] === "wf" ? "wf" : "kb");
  const list = listOfMissing(meant, [word, ...rest], commands);
  return `did you mean ${shownLine(meant)}?${list === undefined ? "" : ` ${list} lists them`}`;
}

/** The line that an unknown word is meant for. */
async function meantByUnknown({ word, group, known, rest }: UnknownCommand) {
  const [program = "kb"] = group;
  const words = [word, ...rest];
  const commands = await commandsOf(program === "wf" ? "wf" : "kb");
  const near = didYouMean(word, known);
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

/** Applications are made and changed in the web console only: `wf publish`, `wf app create`. */
const isForConsole = ({ word, group: [program, ...path], rest: [next = ""] }: UnknownCommand) =>
  program === "wf" &&
  (consoleWords.includes(path.length === 0 ? word : "") ||
    (path.length === 0 && groupOfNoun("wf", word)?.[1] === "app" && consoleWords.includes(next)) ||
    (path.join(" ") === "app" && consoleWords.includes(word)));

/** `kb logs` is a command of wf; what either program does with its own objects is never meant. */
async function inOtherProgram(words: readonly string[], [program, ...path]: readonly string[]) {
  const [word = ""] = words;
  if (path.length > 0 || consoleWords.includes(word)) return undefined;
  const other = program === "kb" ? "wf" : "kb";
  const byNoun = lineOfNoun([other], words, await commandsOf(other));
  const known = (commandGroups[other] ?? []).flatMap(([, each]) => each);
  return byNoun ?? (known.includes(word) ? [other, ...words] : undefined);
}

const invalidLine = (failure: Failure): Explanation => ({
  message: "invalid command line",
  hint: usageHint(failure),
});

const usageHint = ({ command, program }: Failure): string =>
  command
    ? `usage: ${usageOf(command)}`
    : `run ${commandLine(program, [], { help: true })} to list the commands`;

/** Names what is missing, and where to find it: `which document? (missing <doc>)`. */
function missingArgument(failure: Failure): Explanation {
  const { command, node, quoted } = failure;
  const missing = command?.positionals.find(({ word }) => word === quoted);
  const param = missing && command?.params[missing.name];
  const noun = param?.noun ?? param?.listed;
  if (noun === undefined) {
    const query = command && withQuery(command, node.args);
    const meant = query ? `; if this is the query: ${shownLine(query)}` : "";
    return { message: `missing argument: <${quoted}>`, hint: `${usageHint(failure)}${meant}` };
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
  const isOutput = outputFlags.includes(quoted);
  if (isOutput && !known.includes("--output-dir") && !known.includes("--dir"))
    return { message, hint: "results are written to stdout: add > FILE" };
  if (keyFlags.includes(quoted) && !known.includes(quoted))
    return {
      message,
      hint: `store keys with ${commandLine(`${program} login`)}, or set ${program === "kb" ? "KB_KEY" : "KB_APP_KEY"}: others on this machine could read them here`,
    };
  const takesFile = command?.positionals.some(({ word }) => word === "file");
  if (takesFile && ["-f", "--file", "--filename"].includes(quoted))
    return { message, hint: usageHint(failure) };
  const same = (isOutput && known.find((flag) => flag === "--dir")) || flagElsewhere(quoted, known);
  const ofLists = ["--all", "-L", "--limit", "--page"].includes(quoted);
  if (command && !same && ofLists && !command.pages)
    return { message, hint: `it is for commands that list; ${usageHint(failure)}` };
  const near = same || (quoted.startsWith("--") && didYouMean(quoted, [...known, "--help"]));
  if (near) return { message, hint: `did you mean ${near}?` };
  const opens = command?.positionals[0]?.name === "dataset_id" && quoted === "--web";
  if (opens)
    return { message, hint: `did you mean ${commandLine("kb open", node.args.slice(0, 1))}?` };
  const help = commandLine(nameOf(node), [], { help: true });
  const inputs = known.includes("--input") ? "inputs of the application are NAME=VALUE; " : "";
  return { message, hint: `${inputs}run ${help} to list the flags` };
}

/** Program and words: `kb doc list`. */
const nameOf = (node: Commander): string =>
  node.parent ? `${nameOf(node.parent)} ${node.name()}` : node.name();

/** `-o, --output <format>` without a value. */
function missingValue({ node, quoted }: Failure): Explanation {
  const option = node.options.find(({ flags }) => flags === quoted);
  const flag = option?.long ?? quoted;
  const usage = quoted.replace(/^-\w, /, "");
  const help = option?.description;
  return { message: `${flag} needs a value`, hint: help ? `${usage}: ${help}` : `use ${usage}` };
}

/** Flags that a word too many can be meant for, and what they do. */
const meantByWord: Readonly<Record<string, string>> = {
  text: "pass the text",
  content: "pass the content",
  keyword: "search",
  name: "add a new name",
};

/**
 * The hint is a command that works: unquoted words of a last text argument are joined, otherwise the
 * excess arguments are dropped.
 *
 *     kb search Handbook parental leave       → kb search Handbook 'parental leave'
 *     kb doc replace Handbook a.md b.md c.md  → kb doc replace Handbook a.md b.md
 */
function excessArguments(failure: Failure): Explanation {
  const { node, command } = failure;
  const expected = node.registeredArguments.length;
  const message = `too many arguments: expected ${expected}, got ${node.args.length}`;
  const last = command?.positionals.at(-1);
  const kind = last && command?.params[last.name]?.kind;
  // `gh list --json name,id`
  if (command && node.opts()["json"] === true && node.args.length === expected + 1) {
    const flags = { json: true, columns: node.args[expected] } as const;
    const shown = commandLine(command.words.join(" "), node.args.slice(0, expected), flags);
    return { message, hint: `--json takes no columns; if these are columns: ${shown}` };
  }
  const byNoun = lineOfVerbAndNoun(nameOf(node).split(" "), node.args, failure.commands);
  if (byNoun) return { message, hint: `did you mean ${shownLine(byNoun)}?` };
  const other = own(linesWithArguments, nameOf(node));
  if (other !== undefined)
    return { message, hint: `did you mean ${commandLine(other, [node.args.join(" ")])}?` };
  if (!command || last === undefined) return { message, hint: usageHint(failure) };
  const line = (args: readonly string[]) => commandLine(command.words.join(" "), args);
  const then = own(linesForFiles, nameOf(node));
  const files = node.args.slice(expected);
  if (then !== undefined && files.some((word) => /[./]/.test(word))) {
    const made = node.args.slice(0, expected);
    return {
      message,
      hint: `it is created empty; then add the files: ${commandLine(then, [...made, ...files])}`,
    };
  }
  const first = node.args.slice(0, expected - 1);
  // What the second of two words may be: `kb doc list Handbook leave`, `kb copy Handbook Backup`.
  const flags = new Set(ownFlags(command).map(({ long }) => long));
  const meant = Object.keys(meantByWord).find((name) => flags.has(`--${name}`));
  if (meant !== undefined && node.args.length === expected + 1) {
    const [word = ""] = node.args.slice(expected);
    const words = node.args.slice(0, expected);
    const shown = commandLine(command.words.join(" "), words, { [meant]: word });
    return { message, hint: `quote names with spaces, or ${meantByWord[meant]}: ${shown}` };
  }
  if (command.effect === "destroys" && node.args.length < 6) {
    const each = node.args.slice(expected - 1).map((word) => line([...first, word]));
    const whole = line([...first, node.args.slice(expected - 1).join(" ")]);
    return {
      message,
      hint: `one at a time: ${each.join(", ")}; quote a name with spaces: ${whole}`,
    };
  }
  if (kind === "text" || kind === "ref") {
    const joined = [...first, node.args.slice(expected - 1).join(" ")];
    return {
      message,
      hint: `quote ${kind === "ref" ? "names" : "text"} with spaces: ${line(joined)}`,
    };
  }
  const single = line(node.args.slice(0, expected));
  return { message, hint: `pass one ${last.word} at a time: ${single}` };
}
