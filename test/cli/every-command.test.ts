// Wrong lines of every command: arguments as flags, flags with underscores. Each gets the line that was meant.
import { expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { flagsOf } from "../../src/cli/parse/shared-flags.ts";
import { hintedCommands } from "../lib/hinted.ts";
import { cli } from "../lib/support.ts";

const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))];
const named = (words: readonly string[]) => words.join(" ");

/** Commands with required arguments for which no flag has the same name. */
const withArguments = commands.filter((command) => {
  const flags = flagsOf(command).map(({ long }) => long);
  const required = command.positionals.filter(({ optional }) => !optional);
  return required.length > 0 && required.every(({ word }) => !flags.includes(`--${word}`));
});

test("most commands have arguments", () => {
  expect(withArguments.length).toBeGreaterThan(80);
});

test.each(withArguments.map((command) => [named(command.words), command] as const))(
  "%s: flags for its arguments are put in their places, in any order",
  async (_, { words, positionals }) => {
    const required = positionals.filter(({ optional }) => !optional);
    const values = required.map(({ word }, at) => `${word}-${at}`);
    const flags = required.map(({ word }, at) => [`--${word}`, values[at] ?? ""]).toReversed();
    const { err, exit } = await cli([...words, ...flags.flat()]);
    expect(exit).toBe(2);
    expect(hintedCommands(err.replaceAll(/\n +/g, " "))).toContainEqual([...words, ...values]);
  },
);

const withUnderscores = commands.flatMap((command) => {
  const flag = flagsOf(command).find(({ long }) => /^--[a-z]+-[a-z]/.test(long ?? ""));
  return flag?.long === undefined
    ? []
    : [[named(command.words), command.words, flag.long] as const];
});

test.each(withUnderscores)("%s knows its flags with underscores", async (_, words, flag) => {
  const typed = flag.replace(/(?<=\w)-/g, "_");
  const { err, exit } = await cli([...words, typed]);
  expect(exit).toBe(2);
  expect(err).toContain(`unknown flag: ${typed}`);
  expect(err).toContain(flag);
});
