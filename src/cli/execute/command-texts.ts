import { CliError } from "../../errors.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { firstNames, shortened } from "../../lib/text.ts";
import type { Command } from "../parse/command.ts";

// The three texts of a command come from one phrase, its `action`:
//
//   rename tag {tag} to {name}  →  Renaming tag draft to published
//                                  Renamed tag draft to published
//                                  failed to rename tag draft to published: …

/** Values of the command line, by parameter name. */
type Typed = Readonly<Record<string, unknown>>;

const MAX_NAME = 80;

/** What the command is doing, for a spinner. */
export const progressText = (command: Command, typed: Typed): string =>
  capitalized(conjugated(actionWith(command, typed), presentParticiple));

/** The title of its page, if that has none of its own: `Check of files in docs`. */
export function titleText(command: Command, typed: Typed): string {
  const { returns } = command;
  const phrase = (returns.kind === "list" && returns.html) || command.action;
  return capitalized(withNames(phrase, command, typed) ?? withoutNames(phrase));
}

/** What the command is doing while it reads what it would delete: `Reading tag draft`. */
export const readingText = (command: Command, typed: Typed): string =>
  capitalized(conjugated(actionWith(command, typed), () => "reading"));

/** What the command has done, for a terminal; a delete with the size that its prompt had. */
export function successText(command: Command, typed: Typed, deleted?: string): string {
  const text =
    command.done === undefined
      ? capitalized(conjugated(actionWith(command, typed), pastTense))
      : (withNames(command.done, command, typed) ?? withoutNames(command.done));
  return deleted === undefined ? text : `${text} (${deleted})`;
}

/** The question before a command deletes something, with its size if that is known. */
export const confirmationText = (
  command: Command,
  typed: Typed,
  how: { readonly size?: string | undefined; readonly isBackedUp?: boolean } = {},
): string => {
  const lost = command.effect === "destroys" ? " This cannot be undone." : "";
  const back = how.isBackedUp ? " kb undo can undo it." : lost;
  return `${capitalized(sizedAction(command, typed, how.size))}?${back}`;
};

/** What a dry run would delete. */
export const dryDeletionText = (command: Command, typed: Typed, size?: string): string =>
  `would ${sizedAction(command, typed, size)}`;

const sizedAction = (command: Command, typed: Typed, size?: string) =>
  `${actionWith(command, typed)}${size === undefined ? "" : `: ${size}`}`;

/**
 * What a terminal shows for a list without rows: `no documents in knowledge base Handbook`. Undefined for
 * a task that reports on its own.
 */
export function emptyText(command: Command, typed: Typed): string | undefined {
  const action = actionWith(command, typed);
  if (!action.startsWith("list ")) {
    return command.row || command.task?.wraps ? "no results" : undefined;
  }
  const isFiltered = Object.keys(typed).some(
    (name) => !command.positionals.some((positional) => positional.name === name),
  );
  return action.replace("list", isFiltered ? "no matching" : "no");
}

/** The error with what failed before its message: `failed to list tags: connection refused: …`. */
export const withPrefix = (error: CliError, { action }: AnyOperation): CliError =>
  error.with({}, `${failedTo(withoutNames(action))}${error.message}`);

/** The error with the names that were typed in its prefix, where the command's own request failed. */
export function withNamesIn(error: unknown, command: Command, typed: Typed): unknown {
  const own = command.row ?? command.task?.wraps;
  if (!(error instanceof CliError) || own === undefined) return error;
  const prefix = failedTo(withoutNames(own.action));
  if (!error.message.startsWith(prefix)) return error;
  const action = withNames(own.action, command, typed);
  return action
    ? error.with({}, `${failedTo(action)}${error.message.slice(prefix.length)}`)
    : error;
}

const failedTo = (action: string) => `failed to ${action}: `;

const actionWith = (command: Command, typed: Typed): string =>
  withNames(command.action, command, typed) ?? withoutNames(command.action);

/** The phrase with the values of its positionals; undefined if one is missing. */
function withNames(phrase: string, command: Command, typed: Typed): string | undefined {
  let complete = true;
  const text = phrase.replace(/((?<!\w)\w+ )?\{(\w+)\}/g, (_, noun = "", word: string) => {
    const positional = command.positionals.find((each) => each.word === word);
    const value = positional && typed[positional.name];
    if (Array.isArray(value) || (value === undefined && positional?.variadic)) {
      const names = value ?? [];
      return `${noun.replace(/s? $/, names.length === 1 ? " " : "s ")}${firstNames(names.map((name) => shortened(String(name), MAX_NAME)))}`;
    }
    complete &&= typeof value === "string" && value !== "";
    return `${noun}${shortened(String(value), MAX_NAME)}`;
  });
  return complete ? text.replace(/ {2}/g, " ").trim() : undefined;
}

/** `list chunks of document {kb}/{doc}` → `list chunks`, `rename tag {tag} to {name}` → `rename tag`. */
function withoutNames(phrase: string): string {
  const [start = ""] = phrase.split("{", 1);
  if (start === phrase) return phrase;
  return (start.split(/ (?:of|in|to|from|for|with) /, 1)[0] ?? "").trimEnd();
}

const capitalized = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function conjugated(action: string, inflect: (verb: string) => string): string {
  const [verb = "", ...rest] = action.split(" ");
  return [inflect(verb), ...rest].join(" ");
}

const irregular: Readonly<Record<string, string>> = {
  bind: "bound",
  build: "built",
  get: "got",
  read: "read",
  run: "ran",
  send: "sent",
  set: "set",
  unbind: "unbound",
};
const doubled = /^(get|plan|run|set|stop|submit)$/;

const stem = (verb: string) => (doubled.test(verb) ? verb + verb.at(-1) : verb.replace(/e$/, ""));
const presentParticiple = (verb: string) => `${stem(verb)}ing`;
const pastTense = (verb: string) =>
  irregular[verb] ?? `${stem(verb).replace(/([^aeiou])y$/, "$1i")}ed`;
