import { retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Param, Params, Returns } from "../../operations/operation.ts";
import type { Task } from "../../commands/command-spec.ts";

/** A positional argument: the word shown in usage and the parameter it fills. */
interface Positional {
  readonly word: string;
  readonly name: string;
  readonly variadic: boolean;
  readonly optional: boolean;
}

/** What can be typed: a row or a task, seen the same way by parsing, help and completion. */
export interface Command {
  /** Program and words: `["kb", "tag", "rename"]`. */
  readonly words: readonly string[];
  readonly positionals: readonly Positional[];
  readonly summary: string;
  readonly about?: string | undefined;
  /** What it does, as a phrase: `rename tag {tag} to {name}`. */
  readonly action: string;
  /** Its success message, where it is not the action in the past tense. */
  readonly done?: string | undefined;
  readonly key?: "dataset" | "app" | undefined;
  readonly params: Params;
  readonly returns: Returns<never>;
  readonly effect: "reads" | "writes" | "destroys";
  /** Does it send requests? */
  readonly requests: boolean;
  /** May it ask before something is destroyed? */
  readonly asks: boolean;
  /** Does it read a list page by page, as far as --limit, --all and --page say? */
  readonly pages: boolean;
  /** Operations it may send; the first is the one it stands for. */
  readonly sends: readonly AnyOperation[];
  readonly examples: readonly string[];
  readonly row?: AnyOperation | undefined;
  readonly task?: Task | undefined;
}

/** Reads the `command` text of a row or task: `kb doc delete <kb> <doc...>`, `[x]` is optional. */
export function commandOf(spec: AnyOperation | Task): Command {
  const task = "load" in spec ? spec : undefined;
  const row = "load" in spec ? undefined : spec;
  const tokens = (spec.command ?? "").split(" ");
  const isWord = (token: string) => !/^[<[]/.test(token);
  const wraps = task?.wraps;
  const params = spec.params;
  const effect = task?.effect ?? effectOf(spec as AnyOperation); // no task, so it is the row
  return {
    words: tokens.filter(isWord),
    // Worked out where it is asked for: a line uses one command of a hundred.
    get positionals() {
      return tokens.filter((token) => !isWord(token)).map((token) => positional(token, params));
    },
    summary: spec.summary ?? "",
    about: spec.about,
    action: spec.action ?? wraps?.action ?? "",
    done: row?.done ?? wraps?.done,
    key: spec.key,
    params,
    returns: spec.returns,
    effect,
    requests: spec.key !== undefined || task?.sendsRequests === true,
    asks: task?.confirms === true || effect === "destroys",
    pages: task ? task.pages === true : effect === "reads" && isList(spec.returns),
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
  const found = Object.entries(params).find(
    ([name, param]) =>
      name === word || param.placeholder === word || (!param.placeholder && param.noun === word),
  );
  if (!found) throw new Error(`no parameter for <${word}>`);
  return {
    word,
    name: found[0],
    variadic: token.includes("..."),
    optional: token.startsWith("["),
  };
}

const effectOf = (row: AnyOperation): Command["effect"] =>
  row.destructive ? "destroys" : retryOf(row) === "safe" ? "reads" : "writes";

/** A positional as usage lines write it: `<kb>`, `[doc...]`. */
export const argumentOf = ({ word, variadic, optional }: Positional): string => {
  const inner = variadic ? `${word}...` : word;
  return optional ? `[${inner}]` : `<${inner}>`;
};

/** What stands for the value of a flag in usage lines. */
export const placeholder = (param: Param): string => param.placeholder ?? param.noun ?? param.kind;

/** The value of a flag as help and parsing write it: ` <text>`, ` [text]` where it may be left out. */
export const valueOf = (param: Param): string => {
  if (param.kind === "flag") return "";
  return param.bareValue === undefined ? ` <${placeholder(param)}>` : ` [${placeholder(param)}]`;
};

/** Flag of a parameter, without dashes: `--name` or the wire name with hyphens. */
export const flagOf = (name: string, param: Param): string =>
  param.flag ?? name.replace(/_+|\./g, "-");

/** Parameters given by flag: all that no positional fills and that are not filled by themselves. */
export const flagged = ({ params, positionals }: Command): [name: string, param: Param][] =>
  Object.entries(params).filter(
    ([name, param]) =>
      param.from !== "user" && !positionals.some((positional) => positional.name === name),
  );

/** Does it read a list, so that `--limit` and `--all` make sense? */
export const isList = (returns: Returns<never>): boolean =>
  returns.kind === "page" || returns.kind === "list" || returns.kind === "cursor";

/** Does one of its operations take an end user? */
export const takesUser = (command: Command): boolean =>
  [command, ...command.sends].some(({ params }) =>
    Object.values(params).some((param) => param.from === "user"),
  );
