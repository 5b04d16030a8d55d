import { meantCommand } from "../errors/matcher.ts";
import { commandTree, compactTree, helpTree, topicTree } from "./json.ts";
import { CliError, usage, exitCodes } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandsBelow, wordBelow } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { helpFor } from "./help.ts";
import { topicNames } from "./groups.ts";
import { commandLine } from "../../lib/command-line.ts";
import { runTopics } from "../../commands/wf.ts";
import { sharedFlagGroups, sharedFlagHelp } from "../parse/shared-flags.ts";
import type { SharedFlag } from "../parse/shared-flags.ts";
import { renderPage } from "./layout.ts";
import type { HelpBlock, HelpRow } from "./layout.ts";
import type { TopicName } from "./groups.ts";
import auth from "./topics/auth.md?raw";
import environment from "./topics/environment.md?raw";
import formats from "./topics/formats.md?raw";
import names from "./topics/names.md?raw";
import output from "./topics/output.md?raw";
import scripting from "./topics/scripting.md?raw";
import times from "./topics/times.md?raw";

/** Shows what -h or --help requests. */
export const showHelp = (
  program: string,
  { path, brief }: { readonly path: readonly string[]; readonly brief: boolean },
  commands: readonly Command[],
  host: Host,
): Promise<void> =>
  host.stdout.write(helpFor(program, path, commands, { width: host.stdout.columns, brief }));

/**
 * Shows `kb help`, `kb help tag rename`, `kb help exit-codes`, `kb help tag --json`. Throws usage for
 * an unknown word.
 */
export async function showHelpTopic(
  [program = "kb", , ...args]: readonly string[],
  commands: readonly Command[],
  host: Host,
): Promise<void> {
  const flags = args.filter((word) => word.startsWith("-"));
  const unknown = flags.find((flag) => !["--json", "--compact", "--help", "-h"].includes(flag));
  if (unknown !== undefined) {
    throw usage(
      `unknown flag: ${unknown}`,
      `run ${commandLine(`${program} help`, [], { json: true })} or ${commandLine(`${program} help`, [], { json: true, compact: true })}`,
    );
  }
  const words = args
    .filter((word) => !word.startsWith("-"))
    .map((word, at, all) => wordBelow([program, ...all.slice(0, at)], word, commands) ?? word);
  const style = { width: host.stdout.columns, brief: flags.includes("-h") };
  const isJson = flags.includes("--json") || flags.includes("--compact");
  const [word = "", ...others] = words;
  const topic = topicNames.find((name) => name === word);
  if (topic && others.length === 0) {
    const text = await topicText(topic, style.width);
    if (!isJson) return host.stdout.write(text);
    return host.stdout.write(`${JSON.stringify(topicTree(program, topic, text), null, 2)}\n`);
  }
  const below = commandsBelow([program, ...words], commands);
  if (below.length === 0) throw await unknownTopic(program, words, commands);
  if (!isJson) return host.stdout.write(helpFor(program, words, commands, style));
  const text = await jsonText(program, words, below, flags.includes("--compact"));
  await host.stdout.write(`${text}\n`);
}

/** One command, or those of a group or of the program. */
async function jsonText(
  program: string,
  path: readonly string[],
  commands: readonly Command[],
  compact: boolean,
): Promise<string> {
  if (compact) return JSON.stringify(compactTree(program, commands));
  const exact = commands.find(({ words }) => words.length === path.length + 1);
  const tree = exact && path.length > 0 ? commandTree(exact) : helpTree(program, commands);
  return JSON.stringify(tree, null, 2);
}

async function unknownTopic(
  program: string,
  words: readonly string[],
  commands: readonly Command[],
): Promise<CliError> {
  const [first = ""] = words;
  const command = meantCommand([program, ...words], 1, commands)?.command;
  const known = [...topicNames, ...new Set(commands.map((command) => command.words[1] ?? ""))];
  const near = didYouMean(first, known);
  const topic = near === undefined || near === first ? undefined : near;
  const shown = command
    ? commandLine(command.words.join(" "), [], { help: true })
    : topic && commandLine(`${program} help`, [topic]);
  return usage(
    `no help for ${JSON.stringify(words.join(" "))}`,
    shown === undefined
      ? `run ${commandLine(`${program} help`)} to list commands and topics`
      : `did you mean ${shown}?`,
  );
}

/** The page of a topic; its first line is the title. */
export async function topicText(name: TopicName, width: number): Promise<string> {
  const topic = { ...topics, ...(await runTopics()) }[name];
  return renderPage(typeof topic === "string" ? blocksOf(topic) : topic, width);
}

/** Blocks of a page in Markdown: titles, paragraphs, tables of two columns, and fenced lines. */
function blocksOf(page: string): HelpBlock[] {
  const blocks: HelpBlock[] = [];
  let heading: { title?: string } = {};
  for (const part of page.trimEnd().split("\n\n")) {
    const lines = part.split("\n");
    if (part.startsWith("# ")) blocks.push(part.slice(2));
    else if (part.startsWith("## ")) heading = { title: part.slice(3) };
    else {
      if (part.startsWith("|")) blocks.push({ ...heading, rows: lines.slice(2).map(rowOf) });
      else if (part.startsWith("```")) blocks.push({ ...heading, lines: lines.slice(1, -1) });
      else blocks.push(part);
      heading = {};
    }
  }
  return blocks;
}

function rowOf(line: string): HelpRow {
  const [, term = "", text = ""] = line.split("|").map((cell) => cell.trim());
  return [term, text];
}

const flagRow = (flag: SharedFlag): HelpRow => [
  flag.short === undefined ? `    ${flag.usage}` : flag.usage,
  sharedFlagHelp(flag),
];

type TopicOfFeature = keyof Awaited<ReturnType<typeof runTopics>>;

const topics: Readonly<Record<Exclude<TopicName, TopicOfFeature>, string | readonly HelpBlock[]>> =
  {
    "exit-codes": [
      "Exit codes",
      {
        rows: Object.entries(exitCodes).map(([name, [code, meaning]]): HelpRow => [
          `${String(code).padStart(3)}  ${name.padEnd(13)}`,
          meaning,
        ]),
      },
      "The --help page of a command lists the codes that are special to it.",
    ],
    environment,
    output,
    formats,
    flags: [
      "Common flags",
      "The --help page of a command lists the request flags that it takes. Common flags can also precede the command: `kb -p staging list`.",
      ...Object.entries(sharedFlagGroups).map(([title, flags]): HelpBlock => ({
        title,
        rows: flags.map(flagRow),
      })),
      {
        title: "Help",
        rows: [
          ["-h", "short help of a command"],
          ["    --help", "help with exit codes and requests"],
          ["-V, --version", "version of the program"],
          ["    --licenses", "licenses of the program and of all that it contains"],
        ],
      },
    ],
    times,
    scripting,
    auth,
    names,
  };
