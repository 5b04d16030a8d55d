import { exitCodes, signalKinds } from "../../errors.ts";
import type { FailureKind } from "../../errors.ts";
import { own } from "../../lib/json.ts";
import { isList, methodAndPath } from "../../operations/operation.ts";
import type { Param } from "../../operations/operation.ts";
import { formats, formatsOf } from "../../output/style.ts";
import { rulesOf } from "../parse/command-list.ts";
import { chosenBelow, commandsBelow, isNegatable, isRequired, usageOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { ownFlags, sharedFlagGroups, sharedFlagsOf, takesEach } from "../parse/shared-flags.ts";
import { commandGroups, groupPurposes, rareWords, topicNames } from "./groups.ts";
import { MAX_WIDTH, renderPage, wrapCommand, wrapWords } from "./layout.ts";
import type { HelpBlock, HelpRow } from "./layout.ts";

/** How a help page is rendered. */
export interface HelpStyle {
  /** Columns of the terminal. */
  readonly width: number;
  /** What -h shows: what fits a terminal of 24 rows. */
  readonly brief?: boolean;
}

/** Help of a command, a group of commands or the program, by its words. */
export function helpFor(
  program: string,
  path: readonly string[],
  commands: readonly Command[],
  { width, brief = false }: HelpStyle,
): string {
  const words = [program, ...path];
  const exact = commands.find((command) => command.words.join(" ") === words.join(" "));
  const page = brief ? briefPage : commandPage;
  if (exact) {
    const usages = [usageOf(exact), ...chosenBelow(words, commands).map(usageByFlag)];
    const below = commandsBelow(words, commands).filter((command) => command !== exact);
    return renderPage(page(exact, usages, Math.min(width, MAX_WIDTH), below), width);
  }
  const below = commandsBelow(words, commands);
  return renderPage(
    path.length === 0 ? programPage(program, below, brief) : groupPage(words, below),
    width,
  );
}

/** `kb sync --config <file> [name...] [flags]` */
function usageByFlag(command: Command): string {
  const flag = ownFlags(command).find(({ long }) => long === command.task?.chosenBy);
  return usageOf({ ...command, words: [...command.words.slice(0, -1), flag?.usage ?? ""] });
}

const usageLines = (usages: readonly string[]): HelpBlock => ({
  lines: usages.map((usage, index) => `${index === 0 ? "Usage:" : "      "} ${usage}`),
});

/** Rows of the smallest terminal, one of which is the next prompt. */
const BRIEF_LINES = 23;

/** The page with as many flags as fit; the others are named. */
function briefPage(command: Command, usages: readonly string[], width: number): HelpBlock[] {
  const rows = briefFlagRows(command);
  const examples = command.examples.map((example) => wrapCommand(example, width - 2));
  const short = examples.toSorted((a, b) => a.length - b.length).slice(0, 2);
  const pageWith = (count: number): HelpBlock[] => {
    const more = rows.slice(count).flatMap(([term]) => /--[^ ]+/.exec(term)?.[0] ?? []);
    const others = more.length === 0 ? "" : `More flags: ${more.join(", ")}`;
    return [
      command.summary,
      usageLines(usages),
      { title: "Examples", lines: examples.filter((each) => short.includes(each)).flat() },
      { title: "Flags", rows: rows.slice(0, count) },
      {
        lines: [
          ...wrapWords(others, width),
          `Everything about it: ${command.words.join(" ")} --help`,
        ],
      },
    ];
  };
  const counts = [...rows.keys(), rows.length].toReversed();
  const fits = (count: number) =>
    renderPage(pageWith(count), width).split("\n").length - 1 <= BRIEF_LINES;
  return pageWith(counts.find(fits) ?? 0);
}

/** Own flags, required ones first, without the form that reads a file. */
const briefFlagRows = (command: Command): HelpRow[] =>
  flagRows(command)
    .filter(([, help]) => help !== FROM_FILE)
    .toSorted(([, a], [, b]) => Number(b.includes("required")) - Number(a.includes("required")));

function commandPage(
  command: Command,
  usages: readonly string[],
  width: number,
  below: readonly Command[],
): HelpBlock[] {
  const [program = ""] = command.words;
  return [
    command.summary,
    ...(command.about?.split("\n\n") ?? []),
    usageLines(usages),
    {
      title: "Examples",
      lines: command.examples.flatMap((example) => wrapCommand(example, width - 2)),
    },
    { title: "Arguments", rows: argumentRows(command) },
    { title: "Flags", rows: flagRows(command) },
    {
      lines: [
        ...wrapWords(requestFlagsText(command), width),
        `Common flags: ${program} help flags, exit codes: ${program} help exit-codes`,
      ],
    },
    {
      rows: [
        ...effectRows(command),
        ...(below.length === 0 ? [] : [["Below", namesOf(below)] as const]),
      ],
    },
  ];
}

/** `kb sync run, kb sync history` */
const namesOf = (commands: readonly Command[]): string =>
  commands.map(({ words }) => words.join(" ")).join(", ");

/** Positionals with their meaning. */
export const argumentRows = (command: Command): HelpRow[] => {
  const { chosen } = rulesOf(command) ?? {};
  return command.positionals.flatMap(({ word, name }): HelpRow[] => {
    const param = command.params[name];
    if (!param) return [];
    return [[`<${word}>`, argumentHelp(param, chosen?.params.includes(name) ? [chosen.help] : [])]];
  });
};

/** The command's own flags, lined up where one of them has a short form. */
function flagRows(command: Command): HelpRow[] {
  const flags = ownFlags(command);
  const indent = flags.some(({ short }) => short !== undefined) ? "    " : "";
  const own = flags.flatMap(({ role, usage, short, param }): HelpRow[] => {
    const term = short === undefined ? `${indent}${usage}` : usage;
    if (role === "file") return [[term, FROM_FILE]];
    const shown = isNegatable(param) ? term.replace("--", "--[no-]") : term;
    return role === "value" ? [[shown, flagHelp(param)]] : [];
  });
  const saving = savingFlags(command).map(({ usage, help }): HelpRow => [usage, help]);
  return [...own, ...saving];
}

/** Shared flags that a delete shows as its own: with them, it can be undone. */
const savingFlags = (command: Command) =>
  command.effect === "destroys"
    ? sharedFlagsOf(command).filter(({ long }) => long === "--backup")
    : [];

/** Help of the `-file` form of a text flag. */
export const FROM_FILE = "Read it from a file (- for stdin)";

/** Meaning of a flag with its limits: `Data type (required; one of: string, number, time)`. */
export const flagHelp = (param: Param): string =>
  withLimits(param.help, [...(isRequired(param) ? ["required"] : []), ...limitsOf(param)]);

/** Meaning of an argument with its limits: `Name (1 to 40 characters)`. */
const argumentHelp = (param: Param, more: readonly string[]): string =>
  withLimits(param.help, [...limitsOf(param), ...more]);

/** Adds limits in parentheses: `Uploads (default 3)` → `Uploads (default 3; 1 to 10)`. */
function withLimits(help: string, limits: readonly string[]): string {
  if (limits.length === 0) return help;
  const text = limits.join("; ");
  return help.endsWith(")") ? `${help.slice(0, -1)}; ${text})` : `${help} (${text})`;
}

function limitsOf({ choices, length, range, many, kind, serverDefault, ...rest }: Param): string[] {
  const limits = [
    choices && `one of: ${choices.join(", ")}`,
    length && kind !== "file" && `${length[0]} to ${length[1]} ${many ? "times" : "characters"}`,
    range && `${range[0]} to ${range[1]}`,
    many && "repeatable",
    kind === "json" && (rest.fromFile ? "YAML or JSON, - for stdin" : "inline, @file or -"),
    kind === "time" && "2026-05-01, yesterday, monday, '2 days ago' or 2h; see `kb help times`",
    serverDefault !== undefined && `default ${serverDefault}`,
  ];
  return limits.filter((limit) => typeof limit === "string");
}

/** Names of the request flags that the command shares with others, which not every command takes. */
export function requestFlagsText(command: Command): string {
  const names = sharedFlagGroups.Request.filter(({ only }) => only(command)).map(
    ({ long }) => long,
  );
  return names.length === 0 ? "" : `Also takes: ${names.join(", ")}`;
}

function effectRows(command: Command): HelpRow[] {
  const rows: HelpRow[] = [
    ["Effect", sendsNothing(command) ? "none on a server" : effects[command.effect]],
    ["Sends", [requestsText(command), ...savingFlags(command).map(() => BACKUP_READS)].join(", ")],
  ];
  const offered = formatsOf(command.returns);
  if (offered.join(" ") !== formats.join(" ") && command.returns.kind !== "file") {
    rows.push(["Formats", offered.join(", ")]);
  }
  for (const kind of exitsOf(command)) {
    if (!commonExits.has(kind)) rows.push([`Exit ${exitCodes[kind][0]}`, exitCodes[kind][1]]);
  }
  return rows;
}

const sendsNothing = ({ effect, sends, task }: Command): boolean =>
  effect === "reads" && sends.length === 0 && task?.sendsRequests === undefined;

const effects = {
  reads: "reads",
  writes: "writes",
  destroys: "destroys: prompts on a terminal, needs --yes elsewhere",
} as const;

const BACKUP_READS = "and with --backup the reads of a backup";

/** More operations than this are only listed in the JSON form of the page. */
const MAX_OPERATIONS = 9;

/** One or two operations with method and path, more by their ID. */
function requestsText({ sends, task, words: [program, ...words] }: Command): string {
  const operations = [...new Map(sends.map((row) => [row.id, row])).values()];
  if (operations.length === 0) return task?.sendsRequests ?? "nothing";
  if (operations.length > MAX_OPERATIONS) {
    return `what it needs of ${operations.length} operations: ${program} help ${words.join(" ")} --json`;
  }
  const isShort = operations.length <= 2;
  return operations
    .map((row) => (isShort ? `${methodAndPath(row).join(" ")} (${row.id})` : row.id))
    .join(", ");
}

const anyCommand = ["failure", "usage", ...Object.values(signalKinds)] as const;
const anyRequest = [
  "not-found",
  "auth",
  "refused",
  "unsupported",
  "limited",
  "network",
  "deadline",
] as const;
/** Exit codes that a command's help does not explain. */
const commonExits: ReadonlySet<FailureKind> = new Set([...anyCommand, ...anyRequest]);

/** Exit codes other than 0 that a command can give, in the order of the table. */
export function exitsOf(command: Command): FailureKind[] {
  const kinds = new Set<FailureKind>([
    ...anyCommand,
    ...((command.task ?? command.row)?.exits ?? []),
  ]);
  if (command.requests) {
    for (const kind of anyRequest) kinds.add(kind);
    if (command.row?.indexes) kinds.add("remote-failed");
    if (isList(command.returns) || takesEach(command)) kinds.add("partial");
  }
  return Object.keys(exitCodes).filter((kind) => kinds.has(kind as FailureKind)) as FailureKind[];
}

const abouts: Readonly<Record<string, string>> = {
  kb: "Manage the knowledge bases of a Dify-compatible platform: documents, chunks, metadata, tags and retrieval.",
  wf: "Run and follow the workflows of a Dify-compatible platform, and read their logs.",
};

/** The page of a program; the brief one fits a terminal of 24 rows. */
function programPage(program: string, commands: readonly Command[], brief: boolean): HelpBlock[] {
  const groups = commandGroups[program] ?? [];
  const rows = new Map(childRows([program], commands));
  const isCommon = (word: string) => !rareWords.includes(word);
  const rare = groups.flatMap(([, words]) => words).filter((word) => !isCommon(word));
  return [
    abouts[program] ?? "",
    { lines: [`Usage: ${program} <command> [flags]`] },
    `Sign in with \`${program} login\`, or try it first: \`${program} sandbox --ephemeral -- bash\`.`,
    ...(brief
      ? [
          {
            title: "Commands",
            rows: groups.map(([title, words]) => [title, words.join(", ")] as const),
          },
        ]
      : [
          ...groups.map(([title, words]) => ({
            title,
            rows: words.filter(isCommon).map((word) => [word, rows.get(word) ?? ""] as const),
          })),
          { rows: [["More", rare.join(", ")] as const] },
        ]),
    {
      title: "More help",
      rows: [
        [`${program} <command> --help`, "flags, examples and exit codes of a command"],
        [`${program} help <topic>`, topicNames.join(", ")],
        [`${program} help --json`, "all commands as JSON; --compact: a short list"],
      ],
    },
  ];
}

const groupPage = (words: readonly string[], commands: readonly Command[]): HelpBlock[] => [
  own(groupPurposes, words.slice(1).join(" ")) ?? "",
  { lines: [`Usage: ${words.join(" ")} <command> [flags]`] },
  { title: "Commands", rows: childRows(words, commands) },
  `Flags and examples of a command: ${words.join(" ")} <command> --help`,
];

/** The next words with a summary, or with the words below them: `doc` → `list, add, upload`. */
export function childRows(path: readonly string[], commands: readonly Command[]): HelpRow[] {
  const children = new Map<string, Command[]>();
  for (const command of commands) {
    const word = command.words[path.length] ?? "";
    children.set(word, [...(children.get(word) ?? []), command]);
  }
  return [...children].map(([word, entries]): HelpRow => {
    const [only] = entries;
    const isLeaf = entries.length === 1 && only?.words.length === path.length + 1;
    return [word, isLeaf ? only.summary : wordsBelow(entries, path.length + 1)];
  });
}

/** A command that has others below it is listed by its own name: `logs` → `logs, export`. */
const wordsBelow = (commands: readonly Command[], depth: number): string =>
  [...new Set(commands.map(({ words }) => words[depth] ?? words.at(-1)))].join(", ");
