import type { Command as Commander } from "commander";
import { commandLine } from "../../lib/command-line.ts";
import { usageOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import type { RejectedLine } from "../parse/parser.ts";

/** A line that commander rejects. */
export interface Failure extends RejectedLine {
  /** What commander's message quotes: a flag or an argument. */
  readonly quoted: string;
  /** Those of the program. */
  readonly commands: readonly Command[];
  /** The only argument as a path, if it names a directory. */
  readonly directory: string | undefined;
}

/** A flag that a line has and its command does not. */
export interface UnknownFlag extends Failure {
  readonly flag: string;
  /** What follows it. It may be a key, so it is printed only where our flags take it. */
  readonly value: string;
  /** Flags that the command has, in full. */
  readonly known: readonly string[];
}

export interface Explanation {
  readonly message: string;
  readonly hint: string;
}

export const usageHint = ({ command, program }: Failure): string =>
  command
    ? `usage: ${usageOf(command)}`
    : `run ${commandLine(program, [], { help: true })} to list the commands`;

/** Program and words: `kb doc list`. */
export const nameOf = (node: Commander): string =>
  node.parent ? `${nameOf(node.parent)} ${node.name()}` : node.name();

/** Words behind a hint, if they are few: ` (bash, zsh)`. */
export function inBrackets(words: readonly string[]): string {
  const names = [...new Set(words)];
  return names.length > 0 && names.length <= 12 ? ` (${names.join(", ")})` : "";
}
