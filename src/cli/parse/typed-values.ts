import { usage } from "../../errors.ts";
import type { Param } from "../../operations/operation.ts";
import { flagOf, flagParams } from "./command.ts";
import type { Command } from "./command.ts";

/** A value from the command line: a word, several, a boolean, or the path of a file with the text. */
export type TypedLine = string | readonly string[] | boolean | { readonly file: string };

/** The values of a command's parameters, from commander's arguments and options. */
export function typedValues(
  command: Command,
  args: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Record<string, TypedLine> {
  const typed: Record<string, TypedLine> = {};
  command.positionals.forEach(({ name }, index) => {
    const value = args[index] as TypedLine | undefined; // commander types them as any
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) typed[name] = value;
  });
  for (const [name, param] of flagParams(command)) {
    const value = flagValue(name, param, options);
    if (value !== undefined) typed[name] = value;
  }
  return typed;
}

/** The value of a flag, from the flag itself, another name of it, or its `-file` form. */
function flagValue(
  name: string,
  param: Param,
  options: Readonly<Record<string, unknown>>,
): TypedLine | undefined {
  const flag = flagOf(name, param);
  const own = ownValue(param, flag, options);
  const values = own === undefined ? [] : [{ flag, value: own }];
  for (const alias of param.aliases ?? []) {
    const value = options[camelCase(alias)];
    if (value !== undefined) values.push({ flag: alias, value: String(value) });
  }
  const file = param.orFile ? options[camelCase(`${flag}-file`)] : undefined;
  if (file !== undefined) values.push({ flag: `${flag}-file`, value: { file: String(file) } });
  const [first, second] = values;
  if (first && second) {
    throw usage(`use either --${first.flag} or --${second.flag}, not both`);
  }
  return first?.value;
}

/** Commander reads `--no-x` as x = false. The parser's own options define the types of values. */
function ownValue(
  param: Param,
  flag: string,
  options: Readonly<Record<string, unknown>>,
): TypedLine | undefined {
  if (param.kind === "flag" && flag.startsWith("no-")) {
    return options[camelCase(flag.slice(3))] === false || undefined;
  }
  return options[camelCase(flag)] as TypedLine | undefined;
}

const camelCase = (flag: string) =>
  flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
