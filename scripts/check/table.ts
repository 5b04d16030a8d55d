import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandGroups, groupPurposes } from "../../src/cli/help/groups.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { kb } from "../../src/commands/kb.ts";
import { wf } from "../../src/commands/wf.ts";
import { operations } from "../../src/operations/index.ts";
import type { AnyOperation } from "../../src/operations/operation.ts";

const isRow = (value: unknown): value is AnyOperation =>
  typeof value === "object" && value !== null && "route" in value && "action" in value;

/**
 * What is missing in the lists that follow from the table, a line for each: rows of the modules of
 * `src/operations`, their commands, fixtures and steps, and the words of the help page.
 */
export async function missing(
  root: string,
  modules: readonly (readonly [noun: string, module: object])[],
): Promise<string[]> {
  return [
    ...modules.flatMap(([noun, module]) => rowsOutside(noun, module)),
    ...(await unlisted()),
    ...fixtures(root),
    ...(await steps(root)),
    ...(await groups()),
  ];
}

/** Rows that a module exports and the table has not. */
const rowsOutside = (noun: string, module: object): string[] =>
  Object.entries(module)
    .filter(([, value]) => isRow(value) && !operations.includes(value))
    .map(([name]) => `src/operations/index.ts: ${name} of ${noun}.ts is in no list of rows`);

/** Rows that are no commands, and commands that their first word does not load. */
async function unlisted(): Promise<string[]> {
  const listed = new Set<unknown>();
  const problems: string[] = [];
  for (const { words, load } of [...kb.features, ...wf.features]) {
    for (const each of await load()) {
      listed.add(each);
      const [program = "", word = ""] = each.command?.split(" ") ?? [];
      if (word !== "" && !words.split(" ").includes(word))
        problems.push(`src/commands/${program}.ts: "${word}" is missing in "${words}"`);
    }
  }
  for (const row of operations) {
    const [program = ""] = row.command?.split(" ") ?? [];
    if (program !== "" && !listed.has(row))
      problems.push(`src/commands/${program}.ts: "${row.command}" is in no list of rows`);
  }
  return problems;
}

const fixtures = (root: string): string[] =>
  [...new Set(operations.map(({ id }) => `test/wire/${id}.json`))]
    .filter((path) => !existsSync(join(root, path)))
    .map((path) => `${path}: no such file`);

async function steps(root: string): Promise<string[]> {
  const path = "scripts/servers/steps.md";
  const page = readFileSync(join(root, path), "utf8");
  return (await allCommands())
    .filter(({ sends }) => sends.length > 0)
    .map((command) => command.words.join(" "))
    .filter((command) => !new RegExp(`[|,] ${command}[ ,]`).test(page))
    .map((command) => `${path}: no step plays ${command}, and no reason says why`);
}

/** First words in no group of the help page, and words above commands without a purpose. */
async function groups(): Promise<string[]> {
  const path = "src/cli/help/groups.ts";
  const commands = await allCommands();
  const ungrouped = commands
    .map(({ words: [program = "", word = ""] }) => [program, word] as const)
    .filter(([program, word]) => !commandGroups[program]?.some(([, each]) => each.includes(word)))
    .map(([program, word]) => `${path}: ${program} ${word} is in no group of commandGroups`);
  const lines = new Set(commands.map((command) => command.words.join(" ")));
  const purposeless = commands
    .map((command) => command.words.slice(0, -1))
    .filter((above) => above.length > 1 && !lines.has(above.join(" ")))
    .map((above) => above.slice(1).join(" "))
    .filter((group) => groupPurposes[group] === undefined)
    .map((group) => `${path}: ${group} has no purpose in groupPurposes`);
  return [...new Set([...ungrouped, ...purposeless])];
}

const allCommands = async () => [...(await commandsOf("kb")), ...(await commandsOf("wf"))];
