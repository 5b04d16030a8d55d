// Wrong lines of every command: arguments as flags, flags with underscores.
import { expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { flagsOf } from "../../src/cli/parse/shared-flags.ts";
import { groupsOfNouns, verbs } from "../../src/cli/errors/matcher.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { hintedCommands } from "../lib/hinted.ts";
import { sampled } from "../lib/sampled.ts";
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
  "%s: a flag for an argument gets its usage",
  async (_, { words, positionals }) => {
    const { word = "" } = positionals.find(({ optional }) => !optional) ?? {};
    const { err, exit } = await cli([...words, `--${word}`, "x"]);
    expect(exit).toBe(2);
    expect(err.replaceAll(/\n +/g, " ")).toContain(
      `hint: it is an argument: usage: ${named(words)} `,
    );
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

test("a command or flag has at most two words of other programs, and no two commands the same", () => {
  const entries = commands.flatMap(({ words, meant }) =>
    meant.map((word) => [`${words[0]} ${word}`, named(words)] as const),
  );
  const flags = commands.flatMap((command) => flagsOf(command).map(({ meant }) => meant ?? []));
  expect(
    [...commands.map(({ meant }) => meant), ...flags].filter(({ length }) => length > 2),
  ).toEqual([]);
  expect(Object.values(verbs).filter(({ length }) => length > 2)).toEqual([]);
  const seen = new Map<string, string>();
  const twice = entries.filter(
    ([word, name]) => (seen.get(word) ?? name) !== name || !seen.set(word, name),
  );
  expect(twice).toEqual([]);
  // A word that a command has is never taken for another one.
  expect(entries.filter(([word]) => commands.some(({ words }) => named(words) === word))).toEqual(
    [],
  );
});

const groups = new Set(commands.map(({ words }) => named(words.slice(0, -1))));
const foreign = [...groups].flatMap((group) => {
  const [program = ""] = group.split(" ");
  const words = commands.flatMap(({ words: [first], meant }) => (first === program ? meant : []));
  const known = [...Object.keys(verbs), ...Object.keys(groupsOfNouns[program] ?? {}), ...words];
  return known.map((word) => `${group} ${word} a.md`);
});

test.each(sampled(18, foreign))("%s: what a hint proposes can be parsed", async (line) => {
  const { err } = await cli(line.split(" "));
  for (const words of hintedCommands(err.replaceAll(/\n +/g, " "))) {
    const { kind } = parseLine(
      words,
      commands.filter((command) => command.words[0] === words[0]),
    );
    expect(["run", "help"], named(words)).toContain(kind);
  }
});
