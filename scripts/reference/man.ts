import { argumentRows } from "../../src/cli/help/help.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { usageOf } from "../../src/cli/parse/command.ts";
import type { Command } from "../../src/cli/parse/command.ts";
import { sharedFlagHelp, sharedFlags } from "../../src/cli/parse/shared-flags.ts";
import { version } from "../../src/lib/version.ts";
import {
  byNoun,
  exitCodesOf,
  exitEntries,
  oneLine,
  otherTopics,
  ownFlagsOf,
  purposeOf,
  requestsOf,
  sharedFlagNames,
} from "./commands.ts";
import type { Entry } from "./commands.ts";

/** The manual page of a program: roff with the `man` macros, in ASCII. */
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
    ...sharedFlags.flatMap((flag) => entryManual([flag.usage, sharedFlagHelp(flag)])),
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
    ...requestsOf(command).map(([route, id]) => `Sends ${breakable(route)} (${roff(id)}).`),
    roff(`Exit codes: ${exitCodesOf(command)}.`),
    roff(`Shared flags: ${sharedFlagNames(command).join(", ")}.`),
  ];
  return [
    `.SS "${roff(usageOf(command)).replaceAll('"', "\\(dq")}"`,
    roff(`${command.summary}.`),
    ...(command.about ? paragraphs(command.about) : []),
    ...[...argumentRows(command), ...ownFlagsOf(command)].flatMap(entryManual),
    ".PP",
    ...facts,
    ...verbatim(command.examples),
  ];
}

/** Allows line breaks after each step of a path. */
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
