/* Arguments in the places that a command has for them. */
import { own } from "../../lib/json.ts";
import { isFileName, isPath } from "../../lib/text.ts";
import { flagOf, flagParams, isRequired, placeholder } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { choiceFor, meantChoice } from "../parse/choice-words.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import { flagElsewhere } from "./flags-elsewhere.ts";

type Words = readonly string[];

/** Arguments before the first flag, and the flags with what follows them. */
export function atFlags(args: Words): readonly [words: Words, flags: Words] {
  const at = args.findIndex((arg) => arg.startsWith("-"));
  return at === -1 ? [args, []] : [args.slice(0, at), args.slice(at)];
}

/** All flags that a command knows, long and short. */
const flagNames = (command: Command): ReadonlySet<string> =>
  new Set([
    "--help",
    "-h",
    ...flagsOf(command).flatMap(({ long, short }) => [long ?? [], short ?? []].flat()),
  ]);

/** `kb search leave` and `kb cat a.md` lack the knowledge base: `kb search KB leave`. */
export function withKb({ words, positionals }: Command, args: Words): Words | undefined {
  const [first, second, ...others] = positionals;
  if (first?.word !== "kb" || !second) return undefined;
  // `kb doc rename a.md b.md`
  const required = positionals.filter(({ optional }) => !optional);
  const isOther = args.length > 1 && args.length === required.length - 1;
  if (isOther && second.word === "doc" && isFileName(args[0] ?? ""))
    return [...words, "KB", ...args];
  if (args.length !== 1 || others.length > 0) return undefined;
  const [, base, file] = /^(\p{Lu}[^/]*)\/([^/]+)$/u.exec(args[0] ?? "") ?? [];
  if (second.word === "doc" && base && file) return [...words, base, file];
  const isFile = ["file", "doc"].includes(second.word) && isFileName(args[0] ?? "");
  const isSource = second.word === "source" && isPath(args[0]);
  return isFile || isSource || second.word === "query" ? [...words, "KB", ...args] : undefined;
}

/** Arguments of which the first two are swapped where they look so: `leave.md Handbook`, `leave Handbook`. */
export function inOrder({ positionals: [kb, second] }: Command, args: Words): Words {
  const [one, other, ...rest] = args;
  if (kb?.word !== "kb" || !second || one === undefined || other === undefined) return args;
  const isFile = ["file", "doc"].includes(second.word);
  const isName = (word: string) => /^\p{Lu}/u.test(word);
  const isSwapped = isFile
    ? isFileName(one) && !isFileName(other) && !other.startsWith("-")
    : ["query", "tag"].includes(second.word) && isName(other) && !isName(one);
  return isSwapped ? [other, one, ...rest] : args;
}

/** Flags of other programs for what is an argument here, by its word. */
const flagsOfArguments: Readonly<Record<string, readonly string[]>> = {
  kb: ["--dataset", "--dataset-id", "--knowledge-base", "--base", "--kb-id", "--dataset-name"],
  doc: ["--document", "--document-id", "--doc-id", "--file"],
  chunk: ["--segment", "--segment-id", "--chunk-id"],
  query: ["--message", "--text", "--question", "--prompt", "-m"],
  run: ["--run-id", "--workflow-run-id", "--id"],
  task: ["--task-id", "--id"],
  conversation: ["--conversation-id", "--id"],
  message: ["--message-id", "--id"],
  token: ["--form-token", "--id"],
  tag: ["--label", "--tag-name"],
  file: ["-f", "--filename", "--path", "--out", "--outfile", "--output-file"],
  suite: ["-f", "--file", "-c", "--config"],
  questions: ["-f", "--file", "-c", "--config"],
  dir: ["-f", "--directory", "--path", "--out", "--output-dir", "--dest", "--to"],
  source: ["--dir", "--directory", "--path", "--folder", "--src"],
};

/** Arguments in which flags for arguments have our names: `--dataset=Handbook` is `--kb Handbook`. */
function withOurFlags({ positionals }: Command, args: Words, known: ReadonlySet<string>): Words {
  const aliases = positionals
    .toReversed()
    .flatMap(({ word }) =>
      (own(flagsOfArguments, word) ?? []).map((flag) => [flag, `--${word}`] as const),
    );
  const ours = new Map([
    ...aliases,
    ...positionals.map(({ word }) => [`--${word}`, `--${word}`] as const),
  ]);
  return args.flatMap((arg, at) => {
    // `-n Handbook`, as kubectl names a namespace
    if (arg === "-n" && ours.has("--kb") && /^\p{L}/u.test(args[at + 1] ?? "")) return ["--kb"];
    const [typedFlag = "", ...values] = arg.startsWith("-") ? arg.split("=") : [arg];
    const flag = typedFlag.replaceAll("_", "-");
    const mine = known.has(flag) ? undefined : ours.get(flag);
    if (mine === undefined) return [arg];
    return values.length === 0 ? [mine] : [mine, values.join("=")];
  });
}

/**
 * Arguments with those in their place that are written as flags: `Handbook --name a.md`; words in capitals stand for
 * those before it that are missing. Undefined without such a flag.
 */
export function argumentsOfFlags(command: Command, typed: Words): Words | undefined {
  const known = flagNames(command);
  const args = withOurFlags(command, typed, known);
  const { positionals } = command;
  const isArgument = (flag = "") =>
    !known.has(flag) && positionals.some(({ word }) => flag === `--${word}`);
  const named = new Map<string, string>();
  const others = args.filter((arg, at) => {
    const [before = "", next] = [args[at - 1], args[at + 1]];
    if (isArgument(before) && !arg.startsWith("-")) named.set(before, arg);
    const takesNext = isArgument(arg) && next !== undefined && !next.startsWith("-");
    return !takesNext && !(isArgument(before) && !arg.startsWith("-"));
  });
  if (named.size === 0) return undefined;
  const [words, flags] = atFlags(others);
  const places = positionals.map(({ word }) => named.get(`--${word}`));
  const last = places.findLastIndex((value) => value !== undefined);
  const open = [...words];
  const placed = positionals.flatMap(({ word, optional }, at) => {
    const value = places[at] ?? open.shift();
    return value ?? (at < last && !optional ? word.toUpperCase() : []);
  });
  const isFull = open.length > 0 && positionals.at(-1)?.variadic !== true;
  return isFull ? undefined : [...placed, ...open, ...flags];
}

/** The line for an application that is named like an argument: `describe app chat`, `start echo -i x=y`. */
export function lineOfApplication({ words, positionals }: Command, args: Words): Words | undefined {
  const [program = "", group] = words;
  const [name = "-", ...rest] = args;
  if (name.startsWith("-") || name.includes("=")) return undefined;
  const isOfApp = group === "app" && positionals.length === 0 && !isWord(rest[0]);
  return isOfApp || words.join(" ") === "wf run"
    ? [program, "--app", name, ...words.slice(1), ...rest]
    : undefined;
}

/** Is there an argument, and no flag? */
const isWord = (arg: string | undefined): boolean => arg !== undefined && !arg.startsWith("-");

/** Arguments with our flags for those of other programs; undefined if one has none. */
export function withOurFlagsOnly(
  command: Command,
  args: readonly string[],
): readonly string[] | undefined {
  const known = flagNames(command);
  const lines = args.map((arg, at) => {
    const before = ownFlags(command).find(({ long }) => long === args[at - 1]);
    if (before) return [meantChoice(arg, before.param.choices ?? []) ?? arg];
    const [typed = "", ...values] = arg.startsWith("-") ? arg.split("=") : [arg];
    const flag = typed.replaceAll("_", "-");
    if (!flag.startsWith("-") || known.has(typed)) return [arg];
    if (known.has(flag)) return [[flag, ...values].join("=")];
    const choice = choiceFor(command, flag.replace(/^--?/, ""));
    if (choice) return [`--${choice.flag}`, choice.value];
    const ours = flagElsewhere(flag, [...known]);
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

/** Flags that a command needs and a line has not, with words in capitals, by name: `{answer: "ANSWER"}`. */
export function requiredFlagsLeft(
  command: Command,
  given: Words,
): Readonly<Record<string, string>> {
  const left = flagParams(command).flatMap(([name, param]) => {
    const flag = flagOf(name, param);
    const isGiven = given.some((arg) => arg === `--${flag}` || arg.startsWith(`--${flag}=`));
    if (!isRequired(param) || param.orFile || isGiven) return [];
    const value = /^[\w-]+$/.exec(placeholder(param))?.[0] ?? "value";
    const word = ["text", "choice"].includes(value) ? flag : value;
    return [[flag, word.toUpperCase()] as const];
  });
  return Object.fromEntries(left);
}

/** Arguments of a proposed line as its command takes them: what is a file, a text or an assignment has its flag. */
export function finished(
  { words }: Command,
  args: Words,
): { readonly words: Words; readonly args: Words } {
  const has = (...flags: Words) => args.some((arg) => flags.includes(arg.split("=", 1)[0] ?? ""));
  const [plain, flags] = atFlags(args);
  const [kb = "KB", name = "NAME"] = plain;
  switch (words.join(" ")) {
    case "kb doc add": {
      if (has("--text", "--text-file", "--each", "--help")) break;
      if (isFileName(name)) return { words: ["kb", "doc", "upload"], args };
      const text = name.includes(" ") ? ["NAME", "--text", name] : [name, "--text", "TEXT"];
      return { words, args: [kb, ...text, ...plain.slice(2), ...flags] };
    }
    case "kb doc download":
      if (has("--dir", "--zip", "--help")) break;
      return { words, args: [...args, "--dir", "."] };
    case "kb doc update":
      if (!has("--name") || has("--text", "--text-file", "--process-rule")) break;
      return {
        words: ["kb", "doc", "rename"],
        args: [...plain, ...flags.filter((arg) => arg !== "--name")],
      };
    case "kb metadata set": {
      if (has("--set", "--unset", "--each")) break;
      const isValue = (arg: string) => /^[\w-]+=/.test(arg);
      const values = plain.filter(isValue).flatMap((value) => ["--set", value]);
      return { words, args: [...plain.filter((arg) => !isValue(arg)), ...values, ...flags] };
    }
  }
  return { words, args };
}
