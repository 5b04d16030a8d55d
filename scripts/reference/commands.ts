import { FROM_FILE, exitsOf, flagHelp, helpFor } from "../../src/cli/help/help.ts";
import { MAX_WIDTH } from "../../src/cli/help/layout.ts";
import { topicNames } from "../../src/cli/help/groups.ts";
import { topicText } from "../../src/cli/help/topic.ts";
import type { Command } from "../../src/cli/parse/command.ts";
import { ownFlags, sharedFlagsOf } from "../../src/cli/parse/shared-flags.ts";
import { sharedFeatures } from "../../src/commands/shared.ts";
import { loadAll } from "../../src/commands/task/command-spec.ts";
import { exitCodes } from "../../src/errors.ts";
import { methodAndPath } from "../../src/operations/operation.ts";

/** A term and its meaning: an argument, a flag, an exit code. */
export type Entry = readonly [term: string, meaning: string];

const sharedCommands = await loadAll(sharedFeatures);

/** Do both programs have the command? */
export const isShared = ({ words }: Command): boolean => {
  const own = words.slice(1).join(" ");
  return sharedCommands.some(({ command }) => command?.replace(/ [<[].*/, "") === own);
};

/** The purpose of a program: the first sentence of its help. */
export const purposeOf = (program: string, commands: readonly Command[]): string =>
  oneLine(helpFor(program, [], commands, { width: MAX_WIDTH }).split("\n\n")[0] ?? "");

/** Commands by noun, those without a noun first. */
export const byNoun = (commands: readonly Command[]): Command[] => {
  const nounOf = ({ words }: Command) => words.slice(1, -1).join(" ");
  return [...commands].sort((a, b) => compare(nounOf(a), nounOf(b)));
};

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export const ownFlagsOf = (command: Command): Entry[] =>
  ownFlags(command).map(({ usage, role, param }) => {
    if (role === "file") return [usage, FROM_FILE];
    return [usage, role === "no" ? "Set to false" : flagHelp(param)];
  });

/** Long forms of the shared flags that a command takes. */
export const sharedFlagNames = (command: Command): string[] =>
  sharedFlagsOf(command).map(({ long }) => long);

/** Method and path of each operation of a command, with its id. */
export const requestsOf = ({ sends }: Command): Entry[] => [
  ...new Map(sends.map((row) => [methodAndPath(row).join(" "), row.id])),
];

export const exitCodesOf = (command: Command): string =>
  [0, ...exitsOf(command).map((kind) => exitCodes[kind][0])].join(", ");

export const exitEntries = (): Entry[] =>
  Object.values(exitCodes).map(([exit, meaning]): Entry => [String(exit), meaning]);

/** The topics that have no section of their own, in lines of at most `width` columns. */
export const otherTopics = (width: number): Promise<[name: string, text: string][]> =>
  Promise.all(
    topicNames
      .filter((name) => name !== "exit-codes" && name !== "flags")
      .map(async (name) => [name, await topicText(name, width)] as [string, string]),
  );

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
