/* What an unknown flag is meant for. */
import { commandLine, shownLine } from "../../lib/command-line.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { own } from "../../lib/json.ts";
import { choiceFor } from "../parse/choice-words.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import { argumentsOfFlags, withOurFlagsOnly } from "./argument-places.ts";
import { inBrackets, nameOf, usageHint } from "./failure.ts";
import type { Explanation, Failure, UnknownFlag } from "./failure.ts";
import { hintOfRule } from "./flag-rules.ts";
import { hintOfValue } from "./flag-values.ts";
import { flagElsewhere, flagNearElsewhere, flagsOff, keyFlags } from "./flags-elsewhere.ts";

/** Where other programs write to a file. */
const outputFlags = ["--out", "--outfile", "--output-file"];

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
    hintOfRule(unknown) ??
    hintOfNear(unknown) ??
    hintOfChoice(unknown) ??
    hintOfHelp(unknown);
  return { message: `unknown flag: ${typed}`, hint };
}

const negated = (flag: string): string => flag.replace(/^--(no-)?/, "--no-");

function hintOfOutput({ flag, known, command, words }: UnknownFlag): string | undefined {
  if (!outputFlags.includes(flag) || known.includes("--output-dir")) return undefined;
  if (command && argumentsOfFlags(command, words.slice(command.words.length - 1))) return undefined;
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
  const long = `-${/^-\w[\w-]+/.exec(quoted)?.[0] ?? ""}`;
  const same = known.includes(long) ? long : flagElsewhere(long, known);
  if (same !== undefined && long.length > 3) return `did you mean ${same}?`;
  const off = own(flagsOff, flag) ?? negated(flag);
  if (known.includes(off) && !known.includes(flag))
    return `that is the default, which ${off} turns off`;
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
  return undefined;
}

/** The hint for a flag of another program, or one that is misspelled. */
function hintOfNear(unknown: UnknownFlag): string | undefined {
  const { flag, known } = unknown;
  const similar = () => didYouMean(flag, [...known, "--help"]) ?? flagNearElsewhere(flag, known);
  const near = flagElsewhere(flag, known) ?? (flag.startsWith("--") ? similar() : undefined);
  return near && (hintOfValue(unknown, near) ?? `did you mean ${near}?`);
}

/** The hint for a flag that is one of the values of another: `--like`. */
function hintOfChoice({ flag, command }: UnknownFlag): string | undefined {
  const choice = command && choiceFor(command, flag.replace(/^--?/, ""));
  return choice && `did you mean --${choice.flag} ${choice.value}?`;
}

function hintOfHelp({ node, command }: UnknownFlag): string {
  const help = commandLine(nameOf(node), [], { help: true });
  const takesInputs = command?.params["input"]?.placeholder === "name=value";
  const inputs = takesInputs ? "inputs of the application are NAME=VALUE; " : "";
  const own = command ? ownFlags(command).flatMap(({ long }) => long ?? []) : [];
  return `${inputs}run ${help} to list the flags${inBrackets(own)}`;
}
