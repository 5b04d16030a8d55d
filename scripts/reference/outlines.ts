import { commandsOf } from "../../src/cli/parse/command-list.ts";
import type { CommandOutline } from "../../src/cli/parse/command.ts";

/** The outlines of a program's commands as JSON, for `outlinesOf` of src/cli/parse/command-list.ts. */
export async function outlines(program: "kb" | "wf"): Promise<string> {
  const outlineOf = ({ words, positionals, meant, effect }: CommandOutline): CommandOutline => ({
    words,
    positionals: positionals.map(({ variadic, optional }) => ({ variadic, optional })),
    meant,
    effect,
  });
  return JSON.stringify((await commandsOf(program)).map(outlineOf));
}
