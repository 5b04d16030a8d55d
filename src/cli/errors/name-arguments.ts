import type { Values } from "../../api/request.ts";
import { CliError } from "../../errors.ts";
import { actionOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";

/** Longest name that is repeated in an error (characters). */
const longest = 80;

/**
 * The error of the command's own request, with the names that were typed: `could not show a
 * knowledge base (Handbook): …`. Other errors as they are.
 */
export function namedFailure(error: unknown, command: Command, input: Values): unknown {
  const row = command.row ?? command.task?.wraps;
  if (!(error instanceof CliError) || row === undefined) return error;
  const act = `could not ${actionOf(row)}`;
  const names = namesIn(command, input);
  if (names === "" || !error.message.startsWith(`${act}: `)) return error;
  error.message = `${act} (${names})${error.message.slice(act.length)}`;
  return error;
}

/** `a.md of Handbook`; tokens and texts are nobody's names. */
const namesIn = ({ positionals, params }: Command, input: Values): string =>
  positionals
    .flatMap(({ name }) => {
      const { kind } = params[name] ?? {};
      const named = kind === "ref" || kind === "uuid" || name === "name";
      const values = [input[name]].flat().filter((value) => typeof value === "string");
      const names = values.filter((value) => value !== "").join(", ");
      return named && names !== "" ? [shortened(names)] : [];
    })
    .reverse()
    .join(" of ");

const shortened = (name: string) => (name.length > longest ? `${name.slice(0, longest)}…` : name);
