import type { Command as Commander } from "commander";
import { CliError, usage } from "../../errors.ts";
import { commandLine } from "../../lib/command-line.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandGroups } from "../help/groups.ts";
import { usageOf } from "../parse/command.ts";
import { flagsOf } from "../parse/shared-flags.ts";
import { commandElsewhere, flagElsewhere, keyFlags } from "./elsewhere.ts";
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

function unknownCommand({ word, group, known }: Exclude<LineProblem, RejectedLine>): CliError {
  const name = group.join(" ");
  const near = didYouMean(word, known);
  const elsewhere = commandElsewhere(word, group, known);
  const meant =
    (elsewhere && commandLine(elsewhere)) ??
    inOtherProgram(word, group) ??
    (near && commandLine(name, [near]));
  return usage(
    `unknown command ${JSON.stringify(word)} for ${name}`,
    meant === undefined
      ? `run ${commandLine(name, [], { help: true })} to list the commands`
      : `did you mean ${meant}?`,
  );
}

/** `kb logs` is a command of wf. */
function inOtherProgram(word: string, [program, ...path]: readonly string[]): string | undefined {
  if (path.length > 0) return undefined;
  const other = program === "kb" ? "wf" : "kb";
  const words = (commandGroups[other] ?? []).flatMap(([, each]) => each);
  return words.includes(word) ? commandLine(`${other} ${word}`) : undefined;
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
  // Its value may be a key.
  const [quoted = ""] = failure.quoted.split("=", 1);
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
      hint: `store keys with ${commandLine(`${program} login`)}, or set KB_KEY: others on this machine could read them here`,
    };
  const near =
    (isOutput && known.find((flag) => flag === "--dir")) ||
    flagElsewhere(quoted, known) ||
    (quoted.startsWith("--") && didYouMean(quoted, [...known, "--help"]));
  return {
    message,
    hint: !near
      ? `run ${commandLine(nameOf(node), [], { help: true })} to list the flags`
      : `did you mean ${near}?`,
  };
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
  if (!command || last === undefined) return { message, hint: usageHint(failure) };
  const line = (args: readonly string[]) => commandLine(command.words.join(" "), args);
  const first = node.args.slice(0, expected - 1);
  // What the second of two words may be: `kb doc list Handbook leave`, `kb copy Handbook Backup`.
  const isFlag = (name: string) => command.positionals.every((each) => each.name !== name);
  const meant = kind === "ref" && command.params["keyword"] ? "keyword" : "name";
  if (command.params[meant] && isFlag(meant) && node.args.length === expected + 1) {
    const [word = ""] = node.args.slice(expected);
    const words = node.args.slice(0, expected);
    const shown = commandLine(command.words.join(" "), words, { [meant]: word });
    const purpose = meant === "keyword" ? "search" : "add a new name";
    return { message, hint: `quote names with spaces, or ${purpose}: ${shown}` };
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
