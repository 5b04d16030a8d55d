import { sharedTasks } from "../../commands/shared/specs.ts";
import { exitCodes } from "../../errors.ts";
import { methodAndPath } from "../../operations/operation.ts";
import type { Param } from "../../operations/operation.ts";
import { version } from "../../lib/version.ts";
import { flagOf, flagged, valueOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { commandsOf } from "../parse/command-list.ts";
import { globalFlags, globalsOf, helpOf } from "../parse/shared-flags.ts";
import { isRequired, longOf, negatable } from "./json.ts";
import { exitsOf, helpFor, paramHelp, usageOf } from "./help.ts";
import { topics } from "./topics.ts";

/** A term and what it means: an argument, a flag, an exit code. */
type Entry = readonly [term: string, meaning: string];

/** The page of every command of both programs, in Markdown. */
export async function referencePage(): Promise<string> {
  const [kb, wf] = await Promise.all([commandsOf("kb"), commandsOf("wf")]);
  return blocks([
    "# Reference",
    "Every command of `kb` and `wf`, written by `npm run reference` from the table the programs read. What stands here is what `--help` says; `help --json` gives it to programs.",
    "[kb](#kb) · [wf](#wf) · [Both programs](#both-programs) · [Shared flags](#shared-flags) · [Exit codes](#exit-codes) · [Topics](#topics)",
    ...programSection("kb", kb),
    ...programSection("wf", wf),
    "## Both programs",
    "`kb` and `wf` have these alike; `kb` stands for either.",
    ...kb.filter(isShared).flatMap(commandSection),
    "## Shared flags",
    "A command takes those that are named with it. They may stand before the command, too: `kb -p staging list`.",
    ...flagGroups.flatMap((group) => [
      `### ${group}`,
      table(
        "Flag",
        globalFlags
          .filter((flag) => flag.group === group)
          .map((flag): Entry => [code(flag.flags), plain(helpOf(flag))]),
      ),
    ]),
    "## Exit codes",
    table(
      "Code",
      exitEntries().map(([term, meaning]): Entry => [term, plain(meaning)]),
    ),
    "## Topics",
    ...otherTopics().flatMap(([name, text]) => [`### ${name}`, fenced("text", text)]),
  ]);
}

const flagGroups = ["Request", "Output", "Connection", "Other"] as const;

/** Does the other program have it, too? */
const isShared = ({ words }: Command): boolean => {
  const own = words.slice(1).join(" ");
  return sharedTasks.some(({ command }) => command.replace(/ [<[].*/, "") === own);
};

/** Sentence that says what a program is for: the first of its own help. */
const purposeOf = (program: string, commands: readonly Command[]): string =>
  oneLine(helpFor(program, [], commands).split("\n\n")[0] ?? "");

/** Commands noun by noun: those without one first, then each noun with the ones below it. */
const byNoun = (commands: readonly Command[]): Command[] => {
  const nounOf = ({ words }: Command) => words.slice(1, -1).join(" ");
  return [...commands].sort((a, b) => (nounOf(a) < nounOf(b) ? -1 : nounOf(a) > nounOf(b) ? 1 : 0));
};

const programSection = (program: string, commands: readonly Command[]): string[] => [
  `## ${program}`,
  purposeOf(program, commands),
  ...byNoun(commands.filter((command) => !isShared(command))).flatMap(commandSection),
];

function commandSection(command: Command): string[] {
  const shared = sharedOf(command).map(code).join(", ");
  return [
    `### ${command.words.join(" ")}`,
    `${plain(command.summary)}.`,
    ...(command.about ? [plain(command.about)] : []),
    fenced("text", usageOf(command)),
    table("Argument", argumentsOf(command).map(marked)),
    table("Flag", ownFlagsOf(command).map(marked)),
    [
      `- Effect: ${command.effect}`,
      ...operationsOf(command).map(([route, id]) => `- Sends: ${code(route)} (${id})`),
      `- Exit codes: ${exitsFor(command)}`,
      `- Shared flags: ${shared}`,
    ].join("\n"),
    command.examples.length > 0 ? fenced("sh", command.examples.join("\n")) : "",
  ].filter((block) => block !== "");
}

const marked = ([term, meaning]: Entry): Entry => [code(term), plain(meaning)];

function argumentsOf({ positionals, params }: Command): Entry[] {
  return positionals.flatMap(({ word, name }): Entry[] => {
    const param = params[name];
    return param ? [[`<${word}>`, paramHelp(param)]] : [];
  });
}

const ownFlagsOf = (command: Command): Entry[] =>
  flagged(command).flatMap(([name, param]) => flagEntries(name, param));

function flagEntries(name: string, param: Param): Entry[] {
  const flag = flagOf(name, param);
  const short = param.short === undefined ? "" : `-${param.short}, `;
  const needed = isRequired(param) ? ", required" : "";
  return [
    [`${short}--${flag}${valueOf(param)}`, `${paramHelp(param)}${needed}`],
    ...(param.orFile
      ? [[`--${flag}-file <path>`, "The same from a file; - is standard input"] as const]
      : []),
    ...(negatable(param) ? [[`--no-${flag}`, "Say no"] as const] : []),
  ];
}

/** Shared flags a command takes, long form; its own flag of the same name goes before. */
function sharedOf(command: Command): string[] {
  const own = flagged(command).map(([name, param]) => `--${flagOf(name, param)}`);
  return globalsOf(command)
    .map(longOf)
    .filter((flag) => !own.includes(flag));
}

const operationsOf = ({ sends }: Command): Entry[] => [
  ...new Map(sends.map((row) => [methodAndPath(row).join(" "), row.id])),
];

const exitsFor = (command: Command): string =>
  [0, ...exitsOf(command).map((kind) => exitCodes[kind][0])].join(", ");

const exitEntries = (): Entry[] =>
  Object.values(exitCodes).map(([exit, meaning]): Entry => [String(exit), meaning]);

const otherTopics = (): [name: string, text: string][] =>
  Object.entries(topics).filter(([name]) => name !== "exit-codes");

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

const blocks = (texts: readonly string[]): string => `${texts.join("\n\n")}\n`;

const code = (text: string): string => `\`${text.replaceAll("|", "\\|")}\``;

const fenced = (language: string, text: string): string =>
  `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

/** Text whose own signs mean nothing in Markdown; what stands between backticks is code. */
const plain = (text: string): string =>
  text
    .split(/(`[^`]+`)/)
    .map((part) => (/^`.+`$/s.test(part) ? part : part.replace(/[\\*_<>|[\]]/g, "\\$&")))
    .join("");

const table = (head: string, entries: readonly Entry[]): string =>
  entries.length === 0
    ? ""
    : [
        `| ${head} | Meaning |`,
        "| --- | --- |",
        ...entries.map(([term, meaning]) => `| ${term} | ${oneLine(meaning)} |`),
      ].join("\n");

/** The manual page of a program, as roff with the `man` macros, in ASCII. */
export async function manPage(program: "kb" | "wf"): Promise<string> {
  const commands = await commandsOf(program);
  const other = program === "kb" ? "wf" : "kb";
  const purpose = purposeOf(program, commands).replace(/\.$/, "");
  return `${[
    `.TH ${program.toUpperCase()} 1 "" "kb-wf ${version}" "User Commands"`,
    ".ad l",
    ".nh",
    ".SH NAME",
    `${program} \\- ${roff(purpose.charAt(0).toLowerCase() + purpose.slice(1))}`,
    ".SH SYNOPSIS",
    `.B ${program}`,
    roff("<command> [arguments] [flags]"),
    ".SH COMMANDS",
    ...byNoun(commands).flatMap(commandManual),
    ".SH SHARED FLAGS",
    ...globalFlags.flatMap((flag) => entryManual([flag.flags, helpOf(flag)])),
    ".SH EXIT STATUS",
    ...exitEntries().flatMap(entryManual),
    ...otherTopics().flatMap(([name, text]) => topicManual(name, text)),
    ".SH SEE ALSO",
    `.BR ${other} (1)`,
  ].join("\n")}\n`;
}

function commandManual(command: Command): string[] {
  const facts = [
    roff(`Effect: ${command.effect}.`),
    ...operationsOf(command).map(([route, id]) => `Sends ${breakable(route)} (${roff(id)}).`),
    roff(`Exit codes: ${exitsFor(command)}.`),
    roff(`Shared flags: ${sharedOf(command).join(", ")}.`),
  ];
  return [
    `.SS "${roff(usageOf(command)).replaceAll('"', "\\(dq")}"`,
    roff(`${command.summary}.`),
    ...(command.about ? paragraphs(command.about) : []),
    ...[...argumentsOf(command), ...ownFlagsOf(command)].flatMap(entryManual),
    ".PP",
    ...facts,
    ...verbatim(command.examples),
  ];
}

/** A path is one long word: it may be broken after each of its steps. */
const breakable = (route: string): string => roff(route).replaceAll("/", "/\\:");

const entryManual = ([term, meaning]: Entry): string[] => [
  ".TP",
  `\\fB${roff(term)}\\fR`,
  roff(oneLine(meaning)),
];

const paragraphs = (text: string): string[] =>
  text.split("\n\n").flatMap((paragraph) => [".PP", roff(oneLine(paragraph))]);

const verbatim = (lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [".PP", ".RS 4", ".nf", ...lines.map(roff), ".fi", ".RE"];

/** A topic keeps its lines; the first is its title. */
const topicManual = (name: string, text: string): string[] => {
  const [, ...lines] = text.split("\n");
  return [`.SH ${name.toUpperCase()}`, ".nf", ...lines.slice(1).map(roff), ".fi"];
};

/** Signs that roff would set as others, and the ones the pages use beyond ASCII. */
const glyphs: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
  "…": "...",
};

/** One line of text for roff: every sign stands for itself, none begins a request. */
const roff = (text: string): string =>
  text
    .replace(
      /[\\\-'`^~]|\P{ASCII}/gu,
      (sign) =>
        glyphs[sign] ??
        `\\[u${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^\./, "\\&.");
