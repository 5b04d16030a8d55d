import { own } from "../../lib/json.ts";
import { isList, retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Param, Params } from "../../operations/operation.ts";
import type { CallableCommand } from "../../commands/task/command-runner.ts";
import type { Task } from "../../commands/task/command-spec.ts";

/** A positional argument: the word in usage lines and the parameter that it fills. */
interface Positional {
  readonly word: string;
  readonly name: string;
  readonly variadic: boolean;
  readonly optional: boolean;
}

/** A command of the program, from a row or a task; parsing, help and completion read this form. */
export interface Command extends Omit<CallableCommand, "arguments" | "isTool"> {
  readonly positionals: readonly Positional[];
  /** Words of other programs for it. */
  readonly meant: readonly string[];
  /** What it does, as a phrase: `rename tag {tag} to {name}`. */
  readonly action: string;
  /** Its success message, where it is not the action in the past tense. */
  readonly done?: string | undefined;
  readonly params: Params;
  /** Sends requests. */
  readonly requests: boolean;
  /** May prompt before it destroys something. */
  readonly prompts: boolean;
  /** Reads a list page by page, as --limit, --all and --page request. */
  readonly pages: boolean;
  readonly examples: readonly string[];
  readonly row?: AnyOperation | undefined;
  readonly task?: Task | undefined;
}

/** What shows which command a line means. The build writes it, so that an unknown word loads no feature. */
export interface CommandOutline extends Pick<Command, "words" | "meant" | "effect"> {
  readonly positionals: readonly Pick<Positional, "variadic" | "optional">[];
}

/** Reads the `command` text of a row or task: `kb doc delete <kb> <doc...>`; `[x]` is optional. */
export function commandOf(spec: AnyOperation | Task): Command {
  const task = "load" in spec ? spec : undefined;
  const row = "load" in spec ? undefined : spec;
  const tokens = (spec.command ?? "").split(" ");
  const isWord = (token: string) => !/^[<[]/.test(token);
  const wraps = task?.wraps;
  const first = row ?? wraps ?? task?.sends?.[0];
  const params = spec.params;
  const returns = spec.returns ?? wraps?.returns ?? { kind: "json" };
  const effect = task?.effect ?? effectOf(spec as AnyOperation); // not a task, so a row
  return {
    words: tokens.filter(isWord),
    // Getters, because a start builds a hundred commands and uses one.
    get positionals() {
      return tokens.filter((token) => !isWord(token)).map((token) => positional(token, params));
    },
    summary: spec.summary ?? "",
    meant: spec.meant ?? [],
    about: spec.about,
    action: spec.action ?? wraps?.action ?? "",
    done: row?.done ?? wraps?.done,
    key: first?.key,
    params,
    returns,
    effect,
    requests: first !== undefined || task?.sendsRequests !== undefined,
    prompts: spec.confirms === true || effect === "destroys",
    pages: task ? task.pages === true : effect === "reads" && isList(returns),
    get sends() {
      return row ? [row] : [...new Set([...(wraps ? [wraps] : []), ...(task?.sends ?? [])])];
    },
    get examples() {
      return spec.examples ?? [];
    },
    row,
    task,
  };
}

function positional(token: string, params: Params): Positional {
  const word = token.replace(/[<>[\].]/g, "");
  const match = Object.entries(params).find(
    ([name, param]) =>
      name === word || param.placeholder === word || (!param.placeholder && param.noun === word),
  );
  if (!match) throw new Error(`missing parameter for <${word}>`);
  return {
    word,
    name: match[0],
    variadic: token.includes("..."),
    optional: token.startsWith("["),
  };
}

function effectOf(row: AnyOperation): Command["effect"] {
  if (row.destructive) return "destroys";
  return retryOf(row) === "safe" ? "reads" : "writes";
}

/** `kb create <name> [flags]` */
export const usageOf = (command: Command): string =>
  [...command.words, ...command.positionals.map(argumentOf), "[flags]"].join(" ");

/** A positional in a usage line: `<kb>`, `[doc...]`. */
export const argumentOf = ({ word, variadic, optional }: Positional): string => {
  const inner = variadic ? `${word}...` : word;
  return optional ? `[${inner}]` : `<${inner}>`;
};

/** The word for the value of a flag in usage lines. */
export const placeholder = (param: Param): string =>
  param.placeholder ?? (param.isOutputPath ? "file" : (param.noun ?? param.kind));

/** The value of a flag for help and parsing: ` <text>`, or ` [text]` where it is optional. */
export const valueUsage = (param: Param): string => {
  if (param.kind === "flag") return "";
  const word = placeholder(param);
  return word.startsWith("[") ? ` ${word}` : ` <${word}>`;
};

/** Flag of a parameter, without dashes: `--name` or the wire name with hyphens. */
export const flagOf = (name: string, param: Param): string =>
  param.flag ?? name.split("_").filter(Boolean).join("-").replaceAll(".", "-");

/** Parameters set by a flag: not only positional, and not filled from the end user. */
export const flagParams = ({ params, positionals }: Command): [name: string, param: Param][] =>
  Object.entries(params).filter(
    ([name, param]) =>
      param.from !== "user" &&
      (param.short !== undefined || !positionals.some((positional) => positional.name === name)),
  );

/** Must the command line set it? Objects made of flags and values filled from elsewhere need not. */
export const isRequired = (param: Param): boolean =>
  param.required === true && param.shape?.kind !== "object" && param.from === undefined;

/** Has the flag a `--no-` form? Flags that are sent have: false and absent differ for a server. */
export const isNegatable = (param: Param): boolean => param.kind === "flag" && param.in !== "local";

/** Does one of its operations take an end user? */
export const takesUser = (command: Command): boolean =>
  [command, ...command.sends].some(({ params }) =>
    Object.values(params).some((param) => param.from === "user"),
  );

/** Words of other programs that stand for ours, the first one that a group has. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  ls: ["list"],
  rm: ["delete", "remove"],
};

/** Is it a word of other programs that may stand for ours? */
export const isAlias = (word: string): boolean => own(aliases, word) !== undefined;

/** The word below a path that a word stands for: itself, or `delete` for `rm`; undefined for others. */
export const wordBelow = (
  path: readonly string[],
  word: string,
  commands: readonly Command[],
): string | undefined =>
  [word, ...(own(aliases, word) ?? [])].find((each) =>
    commands.some(({ words }) => startsWith(words, [...path, each])),
  );

/** The aliases of a word below a path. */
export const aliasesOf = (
  word: string,
  path: readonly string[],
  commands: readonly Command[],
): string[] =>
  Object.keys(aliases).filter((each) => each !== word && wordBelow(path, each, commands) === word);

/** The words after the program, with that of a command that a flag chooses: `sync --config f` → `sync run --config f`. */
export function withChosen(
  words: readonly string[],
  commands: readonly Command[],
): readonly string[] {
  const flags = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
  const chosen = commands.find(({ words: [, ...path], task }) => {
    const isNamed = flags.some((word) => word.split("=", 1)[0] === task?.chosenBy);
    return isNamed && startsWith(words, path.slice(0, -1)) && !startsWith(words, path);
  });
  const [, ...path] = chosen?.words ?? [];
  return chosen ? [...path, ...words.slice(path.length - 1)] : words;
}

/** The commands below a command that one of its flags chooses. */
export const chosenBelow = (
  start: readonly string[],
  commands: readonly Command[],
): readonly Command[] =>
  commandsBelow(start, commands).filter(
    ({ words, task }) => task?.chosenBy !== undefined && words.length === start.length + 1,
  );

/** The commands that start with these words, the program first. */
export const commandsBelow = (
  start: readonly string[],
  commands: readonly Command[],
): readonly Command[] => commands.filter(({ words }) => startsWith(words, start));

/** Are these the first words of a command? */
export const startsWith = (words: readonly string[], start: readonly string[]): boolean =>
  start.every((word, index) => words[index] === word);
