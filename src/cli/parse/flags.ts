import type { Param } from "../../operations/operation.ts";
import { flagOf, flagParams, isNegatable, placeholder, valueUsage } from "./command.ts";
import type { Command } from "./command.ts";

/** A flag as the parser, help, completion and the reference read it. */
export interface Flag {
  /** `-o, --output <format>`, or `[format]` where the value is optional. */
  readonly usage: string;
  /** `--output`; a hidden alias can be one letter, `-f`. */
  readonly long: string;
  /** `-o` */
  readonly short?: string | undefined;
  /** Word for its value; undefined for a flag without one. */
  readonly value?: string | undefined;
  /** Its value where it is given without one. */
  readonly bareValue?: string | undefined;
  readonly help: string;
  readonly repeats: boolean;
}

/** A flag of a parameter. */
export interface OwnFlag extends Flag {
  readonly name: string;
  readonly param: Param;
  /** It gives the value, false, or the path of a file with the value; an alias is hidden. */
  readonly role: "value" | "no" | "file" | "alias";
}

/** Each start asks twice for the flags of its command. */
const known = new WeakMap<Command, readonly OwnFlag[]>();

/** The flags of a command's parameters. */
export function ownFlags(command: Command): readonly OwnFlag[] {
  const flags = known.get(command) ?? readFlags(command);
  known.set(command, flags);
  return flags;
}

const readFlags = (command: Command): OwnFlag[] =>
  flagParams(command).flatMap(([name, param]): OwnFlag[] => {
    const { aliases = [], help, many = false, range } = param;
    const long = `--${flagOf(name, param)}`;
    const short = param.short && `-${param.short}`;
    const value = param.kind === "flag" ? undefined : placeholder(param);
    const usage = `${long}${valueUsage(param)}`;
    const own = { name, param, help, repeats: false };
    return [
      {
        ...own,
        role: "value",
        usage: short === undefined ? usage : `${short}, ${usage}`,
        repeats: many,
        long,
        short,
        value,
        bareValue: value?.startsWith("[") ? String(range?.[0]) : undefined,
      },
      ...aliases.map((alias): OwnFlag => variant(own, "alias", dashed(alias), value)),
      ...(param.orFile ? [variant(own, "file", `${long}-file`, "path")] : []),
      ...(isNegatable(param) ? [variant(own, "no", long.replace("--", "--no-"))] : []),
    ];
  });

/** `f` → `-f`, `after` → `--after` */
const dashed = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);

const variant = (
  own: Pick<OwnFlag, "name" | "param" | "help" | "repeats">,
  role: OwnFlag["role"],
  long: string,
  value?: string,
): OwnFlag => ({ ...own, role, long, value, usage: value ? `${long} <${value}>` : long });

/** The name of a flag's value among commander's options: `--no-headers` → `headers`. */
export function optionName(long: string): string {
  const words = long.split("-").filter(Boolean);
  const [first = "", ...rest] = words[0] === "no" ? words.slice(1) : words;
  return first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
