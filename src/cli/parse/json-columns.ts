import type { Option } from "commander";
import { declaredNames } from "../../operations/operation.ts";
import type { Command } from "./command.ts";

/**
 * The words of a command or group with the columns of `--json` joined to it: commander would take any
 * next word as its value. A word is columns if the words before it fill every positional and each of
 * its names is a column; before the command no word is.
 *
 *     kb list --json name,id   → kb list --json=name,id
 *     kb show --json Handbook  → kb show --json= Handbook
 */
export function withJsonColumns(
  words: readonly string[],
  options: readonly Option[],
  command?: Command,
): string[] {
  const columns = command ? declaredNames(command.returns) : [];
  const most = command?.positionals.some(({ variadic }) => variadic)
    ? Infinity
    : (command?.positionals.length ?? 0);
  const joined: string[] = [];
  let positionals = 0;
  for (let at = 0; at < words.length; at++) {
    const [word = "", next = ""] = words.slice(at);
    const isFlag = /^-./.test(word);
    if (word === "--" || (!isFlag && !command)) return [...joined, ...words.slice(at)];
    if (word === "--json") {
      const isColumns =
        positionals >= most && next.split(",").every((name) => columns.includes(name));
      joined.push(isColumns ? `--json=${next}` : "--json=");
      if (isColumns) at++;
      continue;
    }
    joined.push(word);
    if (!isFlag) positionals++;
    else if (takesNext(word, next, options)) joined.push(...words.slice(++at, at + 1));
  }
  return joined;
}

/** Is the next word the value of a flag? */
function takesNext(flag: string, next: string, options: readonly Option[]): boolean {
  const option = options.find(({ long, short }) => flag === long || flag === short);
  return option?.required === true || (option?.optional === true && !next.startsWith("-"));
}
