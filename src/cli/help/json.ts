import { exitCodes } from "../../errors.ts";
import { methodAndPath } from "../../operations/operation.ts";
import type { AnyOperation, Param } from "../../operations/operation.ts";
import {
  argumentOf,
  flagOf,
  flagParams,
  isNegatable,
  isRequired,
  usageOf,
  valueUsage,
} from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { sharedFlagGroups, sharedFlagHelp, sharedFlagsOf } from "../parse/shared-flags.ts";
import type { SharedFlag } from "../parse/shared-flags.ts";
import { exitsOf } from "./help.ts";

/** Raised when a field of `help --json` is removed or changes its meaning, not when one is added. */
const version = 1;

/**
 * `help --json`: every command of a program with its parameters and their limits, operations and exit
 * codes. Shared flags are described once and named by each command.
 */
export const helpTree = (program: string, commands: readonly Command[]) => ({
  version,
  program,
  commands: commands.map(commandTree),
  sharedFlags: Object.entries(sharedFlagGroups).flatMap(([group, flags]) =>
    flags.map((flag) => sharedFlagTree(flag, group)),
  ),
  exitCodes: Object.entries(exitCodes).map(([name, [code, meaning]]) => ({ code, name, meaning })),
});

/** `help <topic> --json`. */
export const topicTree = (program: string, topic: string, text: string) => ({
  version,
  program,
  topic,
  text,
});

/**
 * `help --json --compact`: what a program needs to choose a command and to read how it ended. The
 * usage holds the required flags, too; an effect that is not named is `reads`.
 */
export const compactTree = (program: string, commands: readonly Command[]) => ({
  version,
  program,
  details: `${program} help <command> --json`,
  exits: Object.fromEntries(Object.entries(exitCodes).map(([name, [code]]) => [code, name])),
  commands: commands.map((command) => {
    const args = requiredOf(command);
    return {
      command: command.words.join(" "),
      ...(args !== "" && { args }),
      ...(command.effect !== "reads" && { effect: command.effect }),
      summary: command.summary,
    };
  }),
});

/** Arguments, and flags without which the command cannot be sent. */
const requiredOf = (command: Command): string =>
  [
    ...command.positionals.map(argumentOf),
    ...flagParams(command).flatMap(([name, param]) =>
      isRequired(param) ? [`--${flagOf(name, param)}${valueUsage(param)}`] : [],
    ),
  ].join(" ");

/** One command as `help --json` describes it. */
export function commandTree(command: Command) {
  return {
    command: command.words.join(" "),
    usage: usageOf(command),
    summary: command.summary,
    about: command.about ?? null,
    key: command.key ?? null,
    effect: command.effect,
    operations: operationsOf(command).map(operationTree),
    parameters: [
      ...command.positionals.flatMap((positional) => {
        const param = command.params[positional.name];
        if (param === undefined) return [];
        const place = {
          flag: null,
          positional: true,
          required: !positional.optional,
          many: positional.variadic || param.many === true,
        };
        return [parameterTree(positional.name, param, place)];
      }),
      ...flagParams(command).map(([name, param]) =>
        parameterTree(name, param, {
          flag: `--${flagOf(name, param)}`,
          positional: false,
          required: isRequired(param),
          many: param.many === true,
        }),
      ),
    ],
    sharedFlags: sharedFlagsOf(command).map(({ long }) => long),
    exitCodes: [0, ...exitsOf(command).map((kind) => exitCodes[kind][0])],
    examples: command.examples,
  };
}

/** Operations that a command may send, its own first; two rows can be the same operation. */
const operationsOf = ({ sends }: Command): AnyOperation[] => [
  ...new Map(sends.map((row) => [row.id, row])).values(),
];

function operationTree(row: AnyOperation) {
  const [method, path] = methodAndPath(row);
  return { id: row.id, method, path };
}

interface Place {
  readonly flag: string | null;
  readonly positional: boolean;
  readonly required: boolean;
  readonly many: boolean;
}

function parameterTree(name: string, param: Param, { flag, positional, required, many }: Place) {
  const { short, orFile, choices, noun, range, length, serverDefault } = param;
  const [min, max] = param.many ? ["minItems", "maxItems"] : ["minLength", "maxLength"];
  return {
    name,
    flag,
    positional,
    kind: param.kind,
    required,
    many,
    help: param.help,
    ...(short !== undefined && { short: `-${short}` }),
    ...(orFile && flag !== null && { fileFlag: `${flag}-file` }),
    ...(isNegatable(param) && flag !== null && { negation: flag.replace("--", "--no-") }),
    ...(noun !== undefined && { noun }),
    ...(choices !== undefined && { choices }),
    ...(range !== undefined && { min: range[0], max: range[1] }),
    ...(length !== undefined && param.kind !== "file" && { [min]: length[0], [max]: length[1] }),
    ...(serverDefault !== undefined && { serverDefault }),
  };
}

const sharedFlagTree = (flag: SharedFlag, group: string) => ({
  flag: flag.long,
  short: flag.short ?? null,
  value: flag.value ?? null,
  many: flag.repeats,
  help: sharedFlagHelp(flag),
  group,
});
