import changelog from "../../CHANGELOG.md?raw";
import { commandGroups, groupPurposes } from "../../src/cli/help/groups.ts";
import { argumentRows, childRows, exitsOf, requestFlagsText } from "../../src/cli/help/help.ts";
import { wrapCommand } from "../../src/cli/help/layout.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { usageOf } from "../../src/cli/parse/command.ts";
import type { Command } from "../../src/cli/parse/command.ts";
import { sharedFlagHelp, sharedFlags } from "../../src/cli/parse/shared-flags.ts";
import type { SharedFlag } from "../../src/cli/parse/shared-flags.ts";
import { exitCodes } from "../../src/errors.ts";
import { version } from "../../src/lib/version.ts";
import {
  exitEntries,
  oneLine,
  otherTopics,
  ownFlagsOf,
  purposeOf,
  requestsOf,
} from "./commands.ts";
import type { Entry } from "./commands.ts";

/** The page of the topics, which both programs share. */
const TOPICS = "kb-wf";

/** Columns of text on a terminal of 80: the `man` macros keep margins, and an ellipsis becomes dots. */
const TEXT_WIDTH = 69;
/** Indentation of examples. */
const EXAMPLE_INDENT = 4;

/** Every manual page by file name, `kb-doc.1`: roff with the `man` macros, in ASCII. */
export async function manPages(): Promise<ReadonlyMap<string, string>> {
  const pages = new Map([[`${TOPICS}.7`, await topicsPage()]]);
  for (const program of ["kb", "wf"] as const) {
    const commands = await commandsOf(program);
    const words = [...new Set(commands.map((command) => command.words[1] ?? ""))];
    pages.set(`${program}.1`, overview(program, commands));
    for (const word of words) {
      const family = commands.filter((command) => command.words[1] === word);
      pages.set(`${program}-${word}.1`, familyPage(program, word, family));
    }
  }
  return pages;
}

/** The day of this version, from the changelog; empty before its release. */
function released(): string {
  const head = changelog.split("\n").find((line) => line.startsWith(`## [${version}] - `));
  return head?.slice(-"2026-11-21".length) ?? "";
}

function page(name: string, section: 1 | 7, purpose: string, blocks: readonly string[]): string {
  const title = roff(name.toUpperCase());
  const manual = section === 1 ? "User Commands" : "Topics";
  return `${[
    `.TH ${title} ${section} "${released()}" "kb-wf ${version}" "${manual}"`,
    ".ad l",
    ".nh",
    ".SH NAME",
    `${roff(name)} \\- ${roff(purpose)}`,
    ...blocks,
  ].join("\n")}\n`;
}

/** A program: its commands in groups, each with its page. */
function overview(program: "kb" | "wf", commands: readonly Command[]): string {
  const purpose = purposeOf(program, commands);
  const rows = new Map(childRows([program], commands));
  const groups = (commandGroups[program] ?? []).flatMap(([title, words]) => [
    `.SS ${title}`,
    ...words.flatMap((word) => entryManual([`${program}-${word}(1)`, rows.get(word) ?? ""])),
  ]);
  return page(program, 1, phrase(purpose), [
    ".SH SYNOPSIS",
    `.B ${program}`,
    roff("<command> [arguments] [flags]"),
    ".SH COMMANDS",
    ...groups,
    ".SH COMMON FLAGS",
    `Each page describes those of its commands; ${reference(TOPICS, 7)} lists all.`,
    ".SH EXIT STATUS",
    ...exitEntries().flatMap(entryManual),
    ".SH SEE ALSO",
    [reference(program === "kb" ? "wf" : "kb", 1), reference(TOPICS, 7)].join(", "),
  ]);
}

/** The commands that share their first word: `kb doc list`, `kb doc add`. */
function familyPage(program: string, word: string, commands: readonly Command[]): string {
  const [first] = commands;
  const isSingle = commands.length === 1 && first?.words.length === 2;
  const purpose = groupPurposes[word] ?? first?.summary ?? "";
  const common = sharedFlags.filter(({ only }) => commands.some(only));
  const kinds = new Set<string>(["ok", ...commands.flatMap(exitsOf)]);
  const exits = Object.entries(exitCodes)
    .filter(([kind]) => kinds.has(kind))
    .map(([, [code, meaning]]): Entry => [String(code), meaning]);
  return page(`${program}-${word}`, 1, phrase(purpose), [
    ".SH SYNOPSIS",
    ".nf",
    ...commands.map((command) => roff(usageOf(command))),
    ".fi",
    isSingle ? ".SH DESCRIPTION" : ".SH COMMANDS",
    ...commands.flatMap((command) => commandManual(command, isSingle)),
    ".SH COMMON FLAGS",
    ...common.flatMap((flag) => entryManual([flag.usage, commonHelp(flag, commands)])),
    ".SH EXIT STATUS",
    ...exits.flatMap(entryManual),
    ".SH SEE ALSO",
    [reference(program, 1), reference(TOPICS, 7)].join(", "),
  ]);
}

const commonHelp = (flag: SharedFlag, commands: readonly Command[]): string =>
  sharedFlagHelp(flag, commands.find(flag.only));

const topicsPage = async (): Promise<string> =>
  page(TOPICS, 7, "flags, exit codes, formats and other topics of kb and wf", [
    ".SH COMMON FLAGS",
    ...sharedFlags.flatMap((flag) => entryManual([flag.usage, sharedFlagHelp(flag)])),
    ".SH EXIT STATUS",
    ...exitEntries().flatMap(entryManual),
    ...(await otherTopics(TEXT_WIDTH)).flatMap(([name, text]) => topicManual(name, text)),
    ".SH SEE ALSO",
    [reference("kb", 1), reference("wf", 1)].join(", "),
  ]);

function commandManual(command: Command, isSingle: boolean): string[] {
  const request = requestFlagsText(command);
  const facts = [
    roff(`Effect: ${command.effect}.`),
    ...requestsOf(command).map(([route, id]) => `Sends ${breakable(route)} (${roff(id)}).`),
    ...(request === "" ? [] : [roff(`${request}.`)]),
  ];
  return [
    ...(isSingle ? [] : [`.SS "${roff(usageOf(command)).replaceAll('"', "\\(dq")}"`]),
    roff(`${command.summary}.`),
    ...(command.about ? paragraphs(command.about) : []),
    ...[...argumentRows(command), ...ownFlagsOf(command)].flatMap(entryManual),
    ".PP",
    ...facts,
    ...examples(command.examples),
  ];
}

/** A sentence as the purpose of a page: `Show a run.` → `show a run` */
const phrase = (sentence: string): string =>
  sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "");

const reference = (name: string, section: number): string => `\\fB${roff(name)}\\fR(${section})`;

/** Allows line breaks after each step of a path. */
const breakable = (route: string): string => roff(route).replaceAll("/", "/\\:");

const entryManual = ([term, meaning]: Entry): string[] => [
  ".TP",
  `\\fB${roff(term)}\\fR`,
  roff(oneLine(meaning)),
];

const paragraphs = (text: string): string[] =>
  text.split("\n\n").flatMap((paragraph) => [".PP", roff(oneLine(paragraph))]);

function examples(commands: readonly string[]): string[] {
  const lines = commands.flatMap((line) => wrapCommand(line, TEXT_WIDTH - EXAMPLE_INDENT));
  if (lines.length === 0) return [];
  return [".PP", `.RS ${EXAMPLE_INDENT}`, ".nf", ...lines.map(roff), ".fi", ".RE"];
}

/** A topic without its title, line by line. */
const topicManual = (name: string, text: string): string[] => {
  const [, ...lines] = text.split("\n");
  return [`.SH ${name.toUpperCase()}`, ".nf", ...lines.slice(1).map(roff), ".fi"];
};

/** Characters that roff replaces, and those outside ASCII that the pages use. */
const glyphs: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
  "…": "...",
};

/** Escapes a line of text: no character is replaced and none starts a request. */
const roff = (text: string): string =>
  text
    .replace(
      /[\\\-'`^~]|\P{ASCII}/gu,
      (sign) =>
        glyphs[sign] ??
        `\\[u${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^\./, "\\&.");
