import { abortError, CliError, endOfInput, usage } from "../../errors.ts";
import type { Context } from "./command-spec.ts";

/** Invalid replies in a row before giving up: a program may be typing. */
const MAX_ATTEMPTS = 10;

/** Something to choose from a list. */
export interface Choice<T> {
  readonly label: string;
  /** What it means, printed beside the label. */
  readonly note?: string;
  /** Texts that select it besides its number, and their beginnings. */
  readonly names: readonly string[];
  readonly value: T;
}

/** Prompts on the terminal; without spaces around the reply. Throws `interrupted` on Ctrl-C. */
export async function ask(
  question: string,
  context: Context,
  options: { readonly multiline?: boolean; readonly hidden?: boolean } = {},
): Promise<string> {
  const { host } = context;
  const typed = await host
    .prompt(question, { signal: host.signal, ...options })
    .catch((error: unknown) => {
      throw host.signal.aborted ? abortError(host.signal) : error; // a prompt has no side effect
    });
  return typed.trim();
}

/** Prompts until `read` returns a value; it returns a text if the reply is invalid. */
export async function askUntil<T extends object>(
  question: string,
  read: (typed: string) => T | string | Promise<T | string>,
  context: Context,
  options: { readonly multiline?: boolean } = {},
): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const result = await read(await ask(question, context, options));
    if (typeof result !== "string") return result;
    await context.promptLine(result);
  }
  throw usage(`no valid reply after ${MAX_ATTEMPTS} attempts`);
}

/** Prompts for one of these words or its beginning, or for `quit`, which the end of input means, too. */
export async function askReply<const R extends string>(
  question: string,
  words: readonly R[],
  context: Context,
): Promise<R | "quit"> {
  const replies = [...words, "quit"] as const;
  const names = replies.map((reply) => `${reply[0]} = ${reply}`).join(", ");
  const read = (typed: string) => {
    const found = replies.find((reply) => typed !== "" && reply.startsWith(typed.toLowerCase()));
    return found ? { found } : `type one of: ${names}`;
  };
  try {
    return (await askUntil(`${question} (${names}): `, read, context)).found;
  } catch (error) {
    if (error instanceof CliError && error.info.code === endOfInput) return "quit";
    throw error;
  }
}

/** Prints numbered choices and prompts for one; Enter takes the preset. */
export async function askChoice<T>(
  question: string,
  choices: readonly Choice<T>[],
  context: Context,
  preset?: Choice<T>,
): Promise<T> {
  // Numbers would be ambiguous beside choices that are numbers.
  const numbered = !choices.some(({ names }) => names.some((name) => /^\d+$/.test(name)));
  for (const [index, { label, note }] of choices.entries()) {
    const text = note === undefined ? label : `${label}: ${note}`;
    await context.promptLine(numbered ? `  ${index + 1}  ${text}` : `  ${text}`);
  }
  const range = numbered && choices.length > 1 ? ` (1-${choices.length})` : "";
  const read = (typed: string) => {
    if (typed === "" && preset) return preset;
    const found = findChoice(typed, choices, numbered);
    if (found) return found;
    const problem = typed === "" ? "choose one" : `${JSON.stringify(typed)} is not one of them`;
    const number = choices.length > 1 ? `a number from 1 to ${choices.length}` : "1";
    return `${problem}: type ${numbered ? `${number}, or ` : ""}a name`;
  };
  const shown = preset === undefined ? "" : ` [${preset.label}]`;
  return (await askUntil(`${question}${range}${shown}: `, read, context)).value;
}

function findChoice<T>(
  typed: string,
  choices: readonly Choice<T>[],
  numbered: boolean,
): Choice<T> | undefined {
  const text = typed.toLowerCase();
  const matching = (fits: (name: string) => boolean) =>
    choices.filter(({ names }) => names.some((name) => fits(name.toLowerCase())));
  const [exact] = matching((name) => name === text);
  if (exact || text === "") return exact;
  if (/^\d+$/.test(text)) return numbered ? choices[Number(text) - 1] : undefined;
  const [first, ...others] = matching((name) => name.startsWith(text));
  return others.length === 0 ? first : undefined;
}
