import type { Command as Commander } from "commander";
import { CliError, usage } from "../../errors.ts";
import { commandLine, shownLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandGroups } from "../help/groups.ts";
import { usageOf } from "../parse/command.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import {
  lineElsewhere,
  lineOfNoun,
  flagElsewhere,
  keyFlags,
  linesWithArguments,
} from "./elsewhere.ts";
import { listCommand, nouns } from "../../resolve/nouns.ts";
import type { LineProblem, RejectedLine } from "../parse/parser.ts";

interface Failure extends RejectedLine {
  /** What commander's message quotes: a flag or an argument. */
  readonly quoted: string;
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

/** The usage error for a line that cannot be parsed; it suggests the nearest valid word. */
export function lineError(problem: LineProblem): CliError {
  if ("word" in problem) return unknownCommand(problem);
  const { error } = problem;
  const failure = { ...problem, quoted: /'(.*)'/s.exec(error.message)?.[1] ?? "" };
  const explain = explanations[error.code] ?? invalidLine;
  const { message, hint } = explain(failure);
  return usage(message, hint);
}

type UnknownCommand = Exclude<LineProblem, RejectedLine>;

function unknownCommand({ word, group, known, rest }: UnknownCommand): CliError {
  const name = group.join(" ");
  const near = didYouMean(word, known);
  const other = inOtherProgram(word, group);
  const meant =
    lineElsewhere(word, group, known, rest) ??
    (other && [...other, ...rest]) ??
    (near === undefined ? undefined : [...group, near, ...rest]);
  return usage(
    `unknown command ${JSON.stringify(word)} for ${name}`,
    meant === undefined
      ? `run ${commandLine(name, [], { help: true })} to list the commands`
      : `did you mean ${shownLine(meant)}?`,
  );
}

/** `kb logs` is a command of wf; a delete of the other program is never meant. */
function inOtherProgram(word: string, [program, ...path]: readonly string[]): string[] | undefined {
  if (path.length > 0 || word === "delete") return undefined;
  const other = program === "kb" ? "wf" : "kb";
  const words = (commandGroups[other] ?? []).flatMap(([, each]) => each);
  return words.includes(word) ? [other, word] : undefined;
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
    return { message: `missing argument: <${quoted}>`, hint: usageHint(failure) };
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
  const near =
    (isOutput && known.find((flag) => flag === "--dir")) ||
    flagElsewhere(quoted, known) ||
    (quoted.startsWith("--") && didYouMean(quoted, [...known, "--help"]));
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
  const [noun = "", ...objects] = node.args;
  const byNoun = lineOfNoun(nameOf(node).split(" "), noun, objects);
  if (byNoun) return { message, hint: `did you mean ${shownLine(byNoun)}?` };
  const other = own(linesWithArguments, nameOf(node));
  if (other !== undefined)
    return { message, hint: `did you mean ${commandLine(other, [node.args.join(" ")])}?` };
  if (!command || last === undefined) return { message, hint: usageHint(failure) };
  const line = (args: readonly string[]) => commandLine(command.words.join(" "), args);
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
