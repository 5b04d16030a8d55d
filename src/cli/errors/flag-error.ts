/* What an unknown flag is meant for. */
import { commandLine, shellQuote, shownLine } from "../../lib/command-line.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { own } from "../../lib/json.ts";
import { isFileName } from "../../lib/text.ts";
import { formatsOf } from "../../output/style.ts";
import { retrievalShape } from "../../operations/shared.ts";
import type { Command } from "../parse/command.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import { choiceFor } from "./excess-arguments.ts";
import { inBrackets, nameOf, usageHint } from "./failure.ts";
import type { Explanation, Failure } from "./failure.ts";
import {
  chunkingFlags,
  chunkingRule,
  filteredSearch,
  flagElsewhere,
  flagNearElsewhere,
  flagsOff,
  keyFlags,
  searchFields,
} from "./flags-elsewhere.ts";
import { meantChoice } from "../parse/choice-words.ts";
import { argumentsOfFlags } from "./argument-places.ts";

/** Where other programs write to a file. */
const outputFlags = ["--out", "--outfile", "--output-file"];

/** A flag that a line has and its command does not. */
interface UnknownFlag extends Failure {
  readonly flag: string;
  /** What follows it. It may be a key, so it is printed only where our flags take it. */
  readonly value: string;
  /** Flags that the command has, in full. */
  readonly known: readonly string[];
}

export function unknownFlag(failure: Failure): Explanation {
  const { node, command, quoted, words } = failure;
  const [typed = ""] = /^--[^=]*|^-./.exec(quoted) ?? [];
  const flag = typed.replaceAll("_", "-");
  // The node of a command has only the flags that its line names.
  const all = command ? flagsOf(command) : node.options.filter(({ hidden }) => !hidden);
  const known = all.flatMap(({ long }) => long ?? []);
  const attached = quoted.slice(typed.length).replace(/^=/, "");
  const value = attached || (words[words.indexOf(quoted) + 1] ?? "");
  const unknown = { ...failure, flag, value, known };
  if (quoted.includes("=") && known.includes(flag))
    return {
      message: `${flag} takes no value`,
      hint: `use ${flag} or ${negated(flag)}`,
    };
  const hint =
    hintOfOutput(unknown) ??
    hintOfKey(unknown) ??
    hintOfOwn(unknown) ??
    hintOfNear(unknown) ??
    hintOfCommand(unknown) ??
    hintOfHelp(unknown);
  return { message: `unknown flag: ${typed}`, hint };
}

const negated = (flag: string): string => flag.replace(/^--(no-)?/, "--no-");

function hintOfOutput({ flag, known, command }: UnknownFlag): string | undefined {
  if (!outputFlags.includes(flag) || known.includes("--output-dir")) return undefined;
  if (command?.positionals.some(({ word }) => ["dir", "file"].includes(word))) return undefined;
  return known.includes("--dir")
    ? "did you mean --dir?"
    : "results are written to stdout: add > FILE";
}

/** How a key is given without others on the machine reading it. */
function hintOfKey({ flag, known, program }: UnknownFlag): string | undefined {
  if (!keyFlags.includes(flag)) return undefined;
  if (known.includes("--key-file"))
    return "use --key-file FILE (- for stdin) or --key-command COMMAND";
  return `store keys with ${commandLine(`${program} login`)}, or set ${program === "kb" ? "KB_KEY" : "KB_APP_KEY"}: others on this machine could read them here`;
}

/** The hint for what the command has in another form: turned off, in full, as an argument, in JSON. */
function hintOfOwn(unknown: UnknownFlag): string | undefined {
  const { flag, quoted, known, command, words } = unknown;
  // `-app chat`
  const long = `-${/^-\w{2,}/.exec(quoted)?.[0] ?? ""}`;
  if (known.includes(long)) return `did you mean ${long}?`;
  if (["--last", "--latest", "--newest"].includes(flag) && command?.positionals[0]?.word === "run")
    return `it is an argument: ${commandLine(command.words.join(" "), ["last"])}`;
  const off = own(flagsOff, flag) ?? negated(flag);
  if (known.includes(off)) return `that is the default, which ${off} turns off`;
  if (!command) return undefined;
  const { length } = command.words;
  const isPlain = command.words.slice(1).every((word, at) => words[at] === word);
  const hasKey = words.some((word) => keyFlags.includes(word.split("=", 1)[0] ?? ""));
  const placed = argumentsOfFlags(command, words.slice(length - 1));
  const whole = placed && withOurFlagsOnly(command, placed);
  if (whole && isPlain && !hasKey)
    return `it is an argument: ${shownLine([...command.words, ...whole])}`;
  const isArgument =
    placed !== undefined || command.positionals.some(({ word }) => `--${word}` === flag);
  if (isArgument) return `it is an argument: ${usageHint(unknown)}`;
  const takesFile = command.positionals.some(({ word }) => word === "file");
  if (takesFile && ["-f", "--file", "--filename"].includes(flag)) return usageHint(unknown);
  return flagElsewhere(flag, known) ? undefined : hintOfField(unknown, command);
}

/** The hint for a field of a value in JSON, without a change of the other fields. */
function hintOfField({ flag, value, known, node }: UnknownFlag, { words }: Command) {
  const field = own(searchFields, flag);
  if (field !== undefined && words.join(" ") === "kb update") {
    const [kb = "KB"] = node.args;
    const { choices } = retrievalShape.fields.search_method;
    if (field === "search_method" && !choices.some((each) => each === value))
      return `search methods: ${choices.join(", ")}`;
    const typed = field === "search_method" ? `"${value}"` : `${Number(value) || 5}`;
    const changed = `.retrieval_model_dict + {${field}: ${typed}}`;
    return `it is one of the settings of --retrieval-model: --retrieval-model "$(kb show ${shellQuote(kb)} --jq ${shellQuote(changed)})"`;
  }
  if (["--filter", "--where", "--metadata"].includes(flag) && words.join(" ") === "kb search")
    return `it is a part of --retrieval-model: --retrieval-model ${shellQuote(filteredSearch)}`;
  if (!chunkingFlags.includes(flag) || words[0] !== "kb") return undefined;
  const isSize = ["--chunk-size", "--size", "--max-tokens"].includes(flag) && /^\d+$/.test(value);
  const rule = chunkingRule(isSize ? value : "500");
  return known.includes("--process-rule")
    ? `it is a part of --process-rule: --process-rule ${shellQuote(rule)}`
    : `documents are split when they are added: ${commandLine("kb doc upload", ["KB", "FILE"], { "process-rule": rule })}`;
}

/** Flags for what is a value of `--action` here. */
const actions = ["--approve", "--reject", "--accept", "--decline", "--deny"];

/** The hint for a flag of another program, or one that is misspelled. */
function hintOfNear(unknown: UnknownFlag): string | undefined {
  const { flag, value, known, command } = unknown;
  if (actions.includes(flag) && known.includes("--action"))
    return `did you mean --action ${flag.slice(2)}?`;
  const same = flagElsewhere(flag, known);
  if (flag === "--all" && !same && command?.words.join(" ") === "kb doc delete")
    return `name the documents; the knowledge base with all of them: ${commandLine("kb delete", unknown.node.args.slice(0, 1))}`;
  const ofLists = ["--all", "-L", "--limit", "--page"].includes(flag);
  if (flag === "--all" && !same && command?.words.at(-1) === "list") return "that is the default";
  if (command && !same && ofLists && !command.pages)
    return `it is for commands that list; ${usageHint(unknown)}`;
  const isFileFlag = ["-f", "--file", "--filename"].includes(flag);
  const makes = ["kb create", "kb update"].includes(command?.words.join(" ") ?? "");
  if (isFileFlag && makes && /\.ya?ml$/.test(value))
    return `did you mean ${commandLine("kb apply", [value])}?`;
  if (flag === "-a" && unknown.program === "wf" && /^[a-z]/.test(value))
    return `did you mean --app ${value}?`;
  const [kb = "KB", directory = value] = unknown.node.args.filter((word) => !word.startsWith("-"));
  if (command?.words.join(" ") === "kb doc add" && ["--file", "-f"].includes(flag))
    return `did you mean ${commandLine("kb doc upload", [kb, value || "FILE"])}?`;
  if (
    isRecursive(flag) &&
    command &&
    ["kb doc upload", "kb doc add"].includes(command.words.join(" "))
  )
    return `directories are synced: ${commandLine("kb sync", [kb, directory || "DIR"])}`;
  const similar = () => didYouMean(flag, [...known, "--help"]) ?? flagNearElsewhere(flag, known);
  const near = same ?? (flag.startsWith("--") ? similar() : undefined);
  if (near === undefined) return undefined;
  // `--last month`
  const ago = own({ hour: "1h", day: "1d", week: "7d", month: "30d", year: "365d" }, value);
  if (near === "--since" && ago) return `did you mean --since ${ago}?`;
  // `--filter error`, `--filter name=Hand`, `-n Handbook`
  const choice = command && choiceFor(command, value);
  if (choice) return `did you mean --${choice.flag} ${choice.value}?`;
  const formats: readonly string[] = command ? formatsOf(command.returns) : [];
  if (near === "--output" && value !== "" && command)
    return formats.includes(value)
      ? `did you mean --output ${value}?`
      : `--output is how results are printed: ${formats.join(", ")}`;
  const [, text] = value.split("=", 2);
  const [field = ""] = value.split("=");
  const isInput = known.includes("--input");
  if (text && !isInput && known.includes(`--${field}`))
    return `did you mean --${field} ${shellQuote(text)}?`;
  if (near === "--keyword" && text) return `did you mean --keyword ${shellQuote(text)}?`;
  // `-f doc=a.pdf`
  const isFile = ["-f", "-F", "--file", "--files"].includes(flag);
  const [, name, path] = /^([\w-]+)=@?(.+)$/.exec(value) ?? [];
  if (isFile && known.includes("--input") && name && path && isFileName(path))
    return `did you mean --input ${shellQuote(`${name}=@${path}`)}?`;
  // `--last 10`, `--csv inputs.csv`
  const isCount = flag === "--last" && /^\d+$/.test(value) && known.includes("--limit");
  if (isCount) return `did you mean --limit ${value}?`;
  if (near.startsWith("--inputs") && value.includes("="))
    return `did you mean --input ${shellQuote(value)}?`;
  const isRows =
    ["--csv", "--file", "-f", "-F", "-d", "--data"].includes(flag) && /\.(csv|jsonl)$/.test(value);
  if (isRows && known.includes("--each")) return `did you mean --each ${shellQuote(value)}?`;
  const [, count, unit] = /^(\d+) ?(d|h|w|m)(?:ays?|ours?|eeks?|in(?:utes?)?)?$/.exec(value) ?? [];
  if (near === "--since" && count && unit) return `did you mean --since ${count}${unit}?`;
  // `--days 7`
  if (flag === "--days" && /^\d+$/.test(value)) return `did you mean ${near} ${value}d?`;
  const takesNumber = ["--limit", "--top-k"].includes(near);
  if (takesNumber && /^[^\d-]/.test(value)) return `${near} takes a number; ${usageHint(unknown)}`;
  return `did you mean ${near}?`;
}

const isRecursive = (flag: string): boolean => ["-r", "-R", "--recursive"].includes(flag);

/** Arguments with our flags for those of other programs; undefined if one has none. */
export function withOurFlagsOnly(
  command: Command,
  args: readonly string[],
): readonly string[] | undefined {
  const flags = flagsOf(command);
  const known = [
    "--help",
    "-h",
    ...flags.flatMap(({ long, short }) => [long ?? [], short ?? []].flat()),
  ];
  const lines = args.map((arg, at) => {
    const before = ownFlags(command).find(({ long }) => long === args[at - 1]);
    if (before) return [meantChoice(arg, before.param.choices ?? []) ?? arg];
    const [typed = "", ...values] = arg.startsWith("-") ? arg.split("=") : [arg];
    const flag = typed.replaceAll("_", "-");
    if (!flag.startsWith("-") || known.includes(typed)) return [arg];
    if (known.includes(flag)) return [[flag, ...values].join("=")];
    const choice = choiceFor(command, flag.replace(/^--?/, ""));
    if (choice) return [`--${choice.flag}`, choice.value];
    const ours = flagElsewhere(flag, known);
    const next = values[0] ?? args[at + 1] ?? "";
    if (["--limit", "--top-k"].includes(ours ?? "") && /^[^\d-]/.test(next)) return undefined;
    return ours && !/[A-Z]|^--output$/.test(ours) ? [...ours.split(" "), ...values] : undefined;
  });
  return lines.includes(undefined) ? undefined : lines.flatMap((line) => line ?? []);
}

/** Arguments of a command without the flags that it does not have, nor values of these that it has no place for. */
export function withoutUnknownFlags(command: Command, args: readonly string[]) {
  const isUnknown = (word = "") =>
    word.startsWith("-") && withOurFlagsOnly(command, [word]) === undefined;
  const { positionals } = command;
  const words = args.filter((word) => !word.startsWith("-"));
  const isFull = words.length > positionals.length && positionals.at(-1)?.variadic !== true;
  const left = args.filter((word, at) => !isUnknown(word) && !(isFull && isUnknown(args[at - 1])));
  const unknown = args.filter(isUnknown).map((word) => word.split("=", 1)[0] ?? "");
  return { args: withOurFlagsOnly(command, left) ?? left, unknown };
}

/** The hint for flags of a single command. */
function hintOfCommand(unknown: UnknownFlag): string | undefined {
  const { flag, quoted, command, node } = unknown;
  if (!command) return undefined;
  const value = flag.replace(/^--?/, "");
  const choice = choiceFor(command, value);
  if (choice) return `did you mean --${choice.flag} ${choice.value}?`;
  const { words, positionals } = command;
  if (words[1] === "api" && /^(-X|--method|--request)/.test(quoted))
    return `the method comes first: ${requestLine(unknown)}`;
  const follows = ["--wait", "--follow", "--stream"].includes(flag);
  if (follows && words.join(" ") === "wf run")
    return "that is the default; --detach starts the run and ends";
  if (flag === "--response-mode" && ownFlags(command).some(({ long }) => long === "--blocking"))
    return unknown.value === "blocking"
      ? "did you mean --blocking?"
      : "that is the default, which --blocking turns off";
  if (flag === "--wait" && words[1] === "doc")
    return `it does not wait; then run ${commandLine("kb doc wait", ["KB"])}`;
  if (["-m", "--message", "--text"].includes(flag) && words.join(" ") === "wf chat")
    return `send one message with ${commandLine("wf chat send", [unknown.value])}`;
  if (positionals[0]?.name === "dataset_id" && flag === "--web")
    return `did you mean ${commandLine("kb open", node.args.slice(0, 1))}?`;
  return undefined;
}

function hintOfHelp({ node, command }: UnknownFlag): string {
  const help = commandLine(nameOf(node), [], { help: true });
  const takesInputs = command?.params["input"]?.placeholder === "name=value";
  const inputs = takesInputs ? "inputs of the application are NAME=VALUE; " : "";
  const own = command ? ownFlags(command).flatMap(({ long }) => long ?? []) : [];
  return `${inputs}run ${help} to list the flags${inBrackets(own)}`;
}

/** The line for `api -X POST /datasets`. */
function requestLine({ program, node, quoted }: Failure): string {
  const words = node.args.filter((word) => !word.startsWith("-"));
  const [, attached] = /^(?:-X|--\w+=)([A-Z]+)$/.exec(quoted) ?? [];
  const method = attached ?? words.find((word) => /^[A-Z]+$/.test(word)) ?? "POST";
  const path = words.find((word) => word !== method) ?? "PATH";
  return commandLine(`${program} api`, [method, path]);
}
