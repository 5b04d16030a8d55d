import { CliError, usage, abortError } from "../../errors.ts";
import type { Host, Child } from "../../host/host.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { own } from "../../lib/json.ts";
import type { Command } from "../parse/command.ts";
import { helpFor } from "./help.ts";
import { topicAliases, topicNames } from "./topic-names.ts";
import { commandLine } from "../../lib/command-line.ts";
import { isOn } from "../../lib/environment.ts";

/** Shows what -h or --help requests. */
export const showHelp = (
  program: string,
  { path, brief }: { readonly path: readonly string[]; readonly brief: boolean },
  commands: readonly Command[],
  host: Host,
): Promise<void> =>
  showPage(helpFor(program, path, commands, { width: host.stdout.columns, brief }), host);

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
  const words = args.filter((word) => !word.startsWith("-"));
  const style = { width: host.stdout.columns, brief: flags.includes("-h") };
  const isJson = flags.includes("--json");
  const [word = "", ...others] = words;
  const topic = topicNames.find((name) => name === (own(topicAliases, word) ?? word));
  if (topic && others.length === 0) {
    const { topicText } = await import("./topics.ts");
    const text = await topicText(topic, style.width);
    if (!isJson) return showPage(text, host);
    const { topicTree } = await import("./json.ts");
    return host.stdout.write(`${JSON.stringify(topicTree(program, topic, text), null, 2)}\n`);
  }
  const below = commandsBelow([program, ...words], commands);
  if (below.length === 0) throw unknownTopic(program, words, commands);
  if (!isJson) return showPage(helpFor(program, words, commands, style), host);
  const text = await jsonText(program, words, below, flags.includes("--compact"));
  await host.stdout.write(`${text}\n`);
}

const commandsBelow = (path: readonly string[], commands: readonly Command[]): Command[] =>
  commands.filter(({ words }) => path.every((word, index) => words[index] === word));

/** One command, or those of a group or of the program. */
async function jsonText(
  program: string,
  path: readonly string[],
  commands: readonly Command[],
  compact: boolean,
): Promise<string> {
  const { commandTree, compactTree, helpTree } = await import("./json.ts");
  if (compact) return JSON.stringify(compactTree(program, commands));
  const exact = commands.find(({ words }) => words.length === path.length + 1);
  const tree = exact && path.length > 0 ? commandTree(exact) : helpTree(program, commands);
  return JSON.stringify(tree, null, 2);
}

function unknownTopic(
  program: string,
  words: readonly string[],
  commands: readonly Command[],
): CliError {
  const [first = ""] = words;
  const known = [...topicNames, ...new Set(commands.map((command) => command.words[1] ?? ""))];
  const near = didYouMean(first, known);
  return usage(
    `no help for ${JSON.stringify(words.join(" "))}`,
    near === undefined || near === first
      ? `run ${commandLine(`${program} help`)} to list commands and topics`
      : `did you mean ${commandLine(`${program} help`, [near])}?`,
  );
}

/** Writes a page to stdout, through $PAGER if it is taller than the terminal. */
async function showPage(text: string, host: Host): Promise<void> {
  const rows = host.stdout.terminal?.rows ?? Infinity;
  const isTall = text.split("\n").length > rows;
  if (!isTall || !(await paged(text, host))) await host.stdout.write(text);
}

/**
 * Shows a page in the pager; false if there is none or it fails. A signal ends the pager, which then
 * restores the terminal.
 */
async function paged(text: string, host: Host): Promise<boolean> {
  const pager = host.env["PAGER"];
  const isPlain = isOn(host.env["KB_ACCESSIBLE"]) || host.env["TERM"] === "dumb";
  if (pager === "" || pager === "cat" || isPlain) return false;
  const child = pager ? startedByShell(pager, text, host) : startedLess(text, host);
  const exit = await child.exit.catch(() => undefined);
  if (host.signal.aborted) throw abortError(host.signal);
  return exit === 0;
}

// As in git: less quits if the page fits, keeps colors and leaves the text on the screen.
const lessFlags = "FRX";

const startedLess = (input: string, { spawn, signal }: Host): Child =>
  spawn("less", [`-${lessFlags}`], { input, signal });

function startedByShell(pager: string, input: string, host: Host): Child {
  const { spawn, env, platform, signal } = host;
  const options = { input, shell: true, env: { LESS: env["LESS"] ?? lessFlags } };
  // `exec`: the signal reaches the pager and not only the shell. Several programs keep the terminal
  // until the user ends them, as in git.
  const isOneProgram = !platform.includes("win32") && !/[|&;<>()`\n]|^\s*\w+=/.test(pager);
  if (!isOneProgram) return spawn(pager, [], options);
  return spawn(`exec ${pager}`, [], { ...options, signal });
}
