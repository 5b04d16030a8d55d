import { exitCodes } from "../../errors.ts";
import { methodAndPath } from "../../operations/operation.ts";
import type { AnyOperation, Param } from "../../operations/operation.ts";
import { flagOf, flagged } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { globalFlags, globalsOf, helpOf } from "../parse/shared-flags.ts";
import type { GlobalFlag } from "../parse/shared-flags.ts";
import { exitsOf, usageOf } from "./help.ts";

/** Raised when a field of `help --json` goes away or changes its meaning, not when one is added. */
const version = 1;

/**
 * Every command of a program as `help --json` prints it: parameters with their limits, operations
 * with method and path, exit codes. Shared flags are described once and named by each command.
 */
export function helpTree(program: string, commands: readonly Command[]) {
  return {
    version,
    program,
    commands: commands.map(commandTree),
    sharedFlags: globalFlags.map(sharedFlagTree),
    exitCodes: Object.entries(exitCodes).map(([name, [code, meaning]]) => ({
      code,
      name,
      meaning,
    })),
  };
}

function commandTree(command: Command) {
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
      ...flagged(command).map(([name, param]) =>
        parameterTree(name, param, {
          flag: `--${flagOf(name, param)}`,
          positional: false,
          required: isRequired(param),
          many: param.many === true,
        }),
      ),
    ],
    sharedFlags: globalsOf(command).map(longOf),
    exitCodes: [0, ...exitsOf(command).map((kind) => exitCodes[kind][0])],
    examples: command.examples,
  };
}

/** Operations a command may send, the one it stands for first; two rows may be one operation. */
const operationsOf = ({ sends }: Command): AnyOperation[] => [
  ...new Map(sends.map((row) => [row.id, row])).values(),
];

function operationTree(row: AnyOperation) {
  const [method, path] = methodAndPath(row);
  return { id: row.id, method, path };
}

/** What the line must give: a value that is filled from elsewhere is not, nor an object of flags. */
export const isRequired = (param: Param): boolean =>
  param.required === true && param.shape?.kind !== "object" && param.from === undefined;

interface Place {
  readonly flag: string | null;
  readonly positional: boolean;
  readonly required: boolean;
  readonly many: boolean;
}

function parameterTree(name: string, param: Param, { flag, positional, required, many }: Place) {
  const { short, orFile, choices, noun, range, length, serverDefault: server } = param;
  const [least, most] = param.many ? ["minItems", "maxItems"] : ["minLength", "maxLength"];
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
    ...(negatable(param) && flag !== null && { negation: flag.replace("--", "--no-") }),
    ...(noun !== undefined && { noun }),
    ...(choices !== undefined && { choices }),
    ...(range !== undefined && { min: range[0], max: range[1] }),
    ...(length !== undefined && { [least]: length[0], [most]: length[1] }),
    ...(server !== undefined && { serverDefault: server }),
  };
}

/** Has the flag a `--no-` twin? Those that are sent have: false and absent differ for a server. */
export const negatable = (param: Param): boolean => param.kind === "flag" && param.in !== "local";

/** `-o, --output <format>` → `--output` */
export const longOf = ({ flags }: GlobalFlag): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

/** `-o, --output <format>` → `-o` */
export const shortOf = ({ flags }: GlobalFlag): string | undefined => /^-\w/.exec(flags)?.[0];

/** `-o, --output <format>` → `format`; undefined for a flag without a value. */
export const valueOf = ({ flags }: GlobalFlag): string | undefined => /<(.+)>/.exec(flags)?.[1];

function sharedFlagTree(flag: GlobalFlag) {
  return {
    flag: longOf(flag),
    short: shortOf(flag) ?? null,
    value: valueOf(flag) ?? null,
    many: flag.repeats === true,
    help: helpOf(flag),
    group: flag.group,
  };
}
