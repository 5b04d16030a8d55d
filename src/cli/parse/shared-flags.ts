import { isList, takesUser } from "./command.ts";
import { createsNoun } from "./create-nouns.ts";
import type { Command } from "./command.ts";
import { formatsOf } from "../../output/formats-list.ts";

/** A flag that many commands share. */
export interface GlobalFlag {
  /** As commander reads it: `-o, --output <format>`. */
  readonly flags: string;
  readonly help: string;
  /** What its value may be, of a command or of any; help names them. */
  readonly choices?: (command: Command | undefined) => readonly string[];
  readonly group: "Request" | "Output" | "Connection" | "Other";
  /** Commands that take it; every one when absent. */
  readonly only?: (command: Command) => boolean;
  readonly repeats?: true;
  /** Field of Globals, where that of the flag would be taken by a command's own `--input`. */
  readonly as?: string;
}

const writes = ({ effect }: Command) => effect !== "reads";
const sendsAny = ({ requests }: Command) => requests;
const prints = ({ returns }: Command) => returns.kind !== "nothing" && returns.kind !== "file";
/** Where nothing is printed, the format is that of errors: a script gives it to every command alike. */
const formatted = ({ returns }: Command) => returns.kind !== "file";
const pages = (command: Command) => command.pages;
/** The server numbers the pages of no other list. */
const numbered = (command: Command) => command.pages && command.returns.kind === "page";
const lists = ({ returns, effect }: Command) => effect === "reads" && isList(returns);
const bodied = ({ row }: Command) =>
  Object.values(row?.params ?? {}).some((param) => param.in === "body" || param.in === "data");
/** Operations whose object can be found by the name it was to have. */
const creates = ({ row }: Command) => row !== undefined && Object.hasOwn(createsNoun, row.id);

/** May it run once per row of a file? One request each, with an answer that is not a stream. */
export const takesEach = ({ row, effect, returns }: Command): boolean =>
  row !== undefined && effect !== "reads" && returns.kind !== "events" && returns.kind !== "file";

/** Every shared flag, in the order of the help page. */
export const globalFlags: readonly GlobalFlag[] = [
  {
    flags: "-L, --limit <rows>",
    help: "Show at most that many rows in all",
    group: "Request",
    only: pages,
  },
  { flags: "--all", help: "Read every page", group: "Request", only: pages },
  { flags: "--page <number>", help: "Show one page, from 1", group: "Request", only: numbered },
  {
    flags: "--body <json>",
    help: "Further fields of the body: JSON, @file or -",
    group: "Request",
    only: bodied,
  },
  {
    flags: "--body-set <path=value>",
    help: "One further field of the body; value is JSON or text",
    group: "Request",
    only: bodied,
    repeats: true,
  },
  {
    flags: "--user <name>",
    help: "End user the request is made for",
    group: "Request",
    only: takesUser,
  },
  {
    flags: "--each <file>",
    help: "Once per row of a CSV or JSON Lines file, - for standard input; columns are the arguments",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--concurrency <number>",
    help: "With --each: requests at a time, 1 to 50 (default 3, or 1 where rows have an order)",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--errors-to <file>",
    help: "With --each: write the failed rows to a file of the same shape",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--stop-on-error",
    help: "With --each: send no further row after one that failed",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--if-not-exists",
    help: "Take the one that is there already instead of failing",
    group: "Request",
    only: creates,
  },
  {
    flags: "--if-exists",
    help: "Succeed when it is gone already",
    group: "Request",
    only: ({ effect }) => effect === "destroys",
  },
  {
    flags: "-n, --dry-run",
    help: "Show the request that would be sent and send nothing",
    group: "Request",
    only: (command) => writes(command) && sendsAny(command),
  },
  {
    flags: "--curl",
    help: "As --dry-run, but as a curl command",
    group: "Request",
    // A plan is no request.
    only: (command) => writes(command) && sendsAny(command) && !command.task?.plans,
  },
  {
    flags: "-y, --yes",
    help: "Answer questions with yes",
    group: "Request",
    only: ({ asks }) => asks,
  },
  {
    flags: "--read-only",
    help: "Refuse to change anything",
    group: "Request",
    only: (command) => writes(command) && sendsAny(command),
  },
  {
    flags: "--timeout <duration>",
    help: "Give up after this time: 30s, 5m, 2h",
    group: "Request",
    only: sendsAny,
  },
  {
    flags: "-o, --output <format>",
    help: "Format of the output",
    choices: (command) => formatsOf(command?.returns),
    group: "Output",
    only: formatted,
  },
  { flags: "--json", help: "Same as -o json", group: "Output", only: formatted },
  {
    flags: "--jq <filter>",
    help: "Filter the JSON with a jq expression; strings come out raw",
    group: "Output",
    only: prints,
  },
  {
    flags: "--columns <paths>",
    help: "Columns to show, by comma; help lists them",
    group: "Output",
    only: (command) => prints(command) && command.returns.kind !== "report",
  },
  { flags: "--no-headers", help: "Leave out the header row", group: "Output", only: prints },
  {
    flags: "--safe-cells",
    help: "In csv and tsv: put an apostrophe before cells that a spreadsheet takes for formulas",
    group: "Output",
    only: ({ returns }) => formatsOf(returns).includes("csv"),
  },
  { flags: "--sort <column>", help: "Sort the rows shown", group: "Output", only: lists },
  { flags: "--reverse", help: "Turn the order of the rows shown", group: "Output", only: lists },
  { flags: "--utc", help: "Show times in UTC", group: "Output", only: prints },
  { flags: "--relative", help: "Show times as distances: 3m ago", group: "Output", only: prints },
  {
    flags: "--output-file <path>",
    help: "Write the answer to a file",
    group: "Output",
    only: ({ returns }) => returns.kind === "file" || returns.kind === "text",
  },
  {
    flags: "--color <when>",
    help: "When to colour",
    choices: () => ["always", "never", "auto"],
    group: "Output",
  },
  { flags: "-q, --quiet", help: "No progress and no notices", group: "Output" },
  {
    flags: "-v, --verbose",
    help: "Show what is resolved, sent and repeated; -vv headers and bodies, -vvv causes and times",
    group: "Output",
    repeats: true,
  },
  { flags: "-p, --profile <name>", help: "Stored profile to use", group: "Connection" },
  {
    flags: "--app <name>",
    help: "Application of the profile",
    group: "Connection",
    only: ({ key }) => key !== "dataset",
  },
  { flags: "--base-url <url>", help: "Address of the API, with /v1", group: "Connection" },
  {
    flags: "--retries <number>",
    help: "Repeats after the first try, 3 when absent, 0 is off",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--connect-timeout <duration>",
    help: "Until a connection stands, 10s when absent",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--idle-timeout <duration>",
    help: "Without a byte from the server, 30s when absent",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--ca-file <path>",
    help: "Further certificate authority, PEM",
    group: "Connection",
    only: sendsAny,
  },
  { flags: "--insecure-http", help: "Allow http beyond this machine", group: "Connection" },
  { flags: "--no-input", help: "Never ask", group: "Other", as: "mayAsk" },
];

/** The shared flags a command takes. */
export const globalsOf = (command: Command): readonly GlobalFlag[] =>
  globalFlags.filter(({ only }) => only?.(command) ?? true);

/** What a shared flag does, and what its value may be: `When to colour: always, never or auto`. */
export function helpOf({ help, choices }: GlobalFlag, command?: Command): string {
  if (!choices) return help;
  const words = choices(command);
  return `${help}: ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** What was given for the shared flags, by long name in camel case. */
export interface Globals {
  readonly limit?: string;
  readonly all?: boolean;
  readonly page?: string;
  readonly body?: string;
  readonly bodySet?: readonly string[];
  readonly user?: string;
  readonly each?: string;
  readonly concurrency?: string;
  readonly errorsTo?: string;
  readonly stopOnError?: boolean;
  readonly ifNotExists?: boolean;
  readonly ifExists?: boolean;
  readonly dryRun?: boolean;
  readonly curl?: boolean;
  readonly yes?: boolean;
  readonly readOnly?: boolean;
  readonly timeout?: string;
  readonly output?: string;
  readonly json?: boolean;
  readonly jq?: string;
  readonly columns?: string;
  readonly headers?: boolean;
  readonly safeCells?: boolean;
  readonly sort?: string;
  readonly reverse?: boolean;
  readonly utc?: boolean;
  readonly relative?: boolean;
  readonly outputFile?: string;
  readonly color?: string;
  readonly quiet?: boolean;
  readonly verbose?: readonly unknown[];
  readonly profile?: string;
  readonly app?: string;
  readonly baseUrl?: string;
  readonly retries?: string;
  readonly connectTimeout?: string;
  readonly idleTimeout?: string;
  readonly caFile?: string;
  readonly insecureHttp?: boolean;
  /** false with --no-input. */
  readonly mayAsk?: boolean;
}
