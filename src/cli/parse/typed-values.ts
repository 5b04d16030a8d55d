import { usage } from "../../errors.ts";
import type { Command } from "./command.ts";
import { optionName, ownFlags } from "./shared-flags.ts";
import type { OwnFlag } from "./shared-flags.ts";

/** A value from the command line: a word, several, a boolean, or the path of a file with the text. */
export type TypedLine = string | readonly string[] | boolean | { readonly file: string };

/** The values of a command's parameters, from commander's arguments and options. Throws usage. */
export function typedValues(
  command: Command,
  args: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Record<string, TypedLine> {
  const typed: Record<string, TypedLine> = {};
  // Commander types them as any.
  const words = (args as readonly (TypedLine | undefined)[]).filter(
    (value) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  filledBy(words.length, command).forEach(({ name }, index) => {
    typed[name] = words[index] ?? "";
  });
  const given = new Map<string, OwnFlag>();
  for (const flag of ownFlags(command)) {
    const value = valueOf(flag, options[optionName(flag.long)]);
    if (value === undefined) continue;
    const other = given.get(flag.name);
    if (other) throw usage(`use either ${other.long} or ${flag.long}, not both`);
    given.set(flag.name, flag);
    typed[flag.name] = flag.param.short ? both(typed[flag.name], value) : value;
  }
  return typed;
}

/** The positionals that so many words fill: the required ones, then optional ones from the left. */
function filledBy(count: number, { positionals }: Command): Command["positionals"] {
  let spare = count - positionals.filter(({ optional }) => !optional).length;
  return positionals.filter(({ optional }) => !optional || spare-- > 0);
}

const both = (words: TypedLine | undefined, flags: TypedLine): TypedLine =>
  Array.isArray(words) && Array.isArray(flags) ? ([...words, ...flags] as string[]) : flags;

/** Commander reads `--no-x` as x = false. The parser's own options define the types of values. */
function valueOf({ role, long }: OwnFlag, option: unknown): TypedLine | undefined {
  if (role === "no") return undefined; // read with the flag that it negates
  if (long.startsWith("--no-")) return option === false || undefined;
  if (role === "file" && option !== undefined) return { file: String(option) };
  return option as TypedLine | undefined;
}
