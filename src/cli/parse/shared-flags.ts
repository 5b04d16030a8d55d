import { isList, takesUser } from "./command.ts";
import { createsNoun } from "./create-nouns.ts";
import type { Command } from "./command.ts";
import { formatsOf } from "../../output/formats-list.ts";

/** A flag that many commands share. */
export interface SharedFlag {
  /** As commander reads it: `-o, --output <format>`. */
  readonly flags: string;
  readonly help: string;
  /** Allowed values for a command, or for any command; help lists them. */
  readonly choices?: (command: Command | undefined) => readonly string[];
  readonly group: "Request" | "Output" | "Connection" | "Other";
  /** Commands that take it (default all). */
  readonly only?: (command: Command) => boolean;
  readonly repeats?: true;
  /** Field of Globals, where a command's own flag would take the usual one (`--input`). */
  readonly as?: string;
}

const writes = ({ effect }: Command) => effect !== "reads";
const sendsAny = ({ requests }: Command) => requests;
const prints = ({ returns }: Command) => returns.kind !== "nothing" && returns.kind !== "file";
/** Commands that print nothing take a format, too: it is the format of their errors. */
const formatted = ({ returns }: Command) => returns.kind !== "file";
const pages = (command: Command) => command.pages;
/** Only these lists have numbered pages on the server. */
const numbered = (command: Command) => command.pages && command.returns.kind === "page";
const lists = ({ returns, effect }: Command) => effect === "reads" && isList(returns);
const bodied = ({ row }: Command) =>
  Object.values(row?.params ?? {}).some((param) => param.in === "body" || param.in === "data");
/** Operations whose object can be found by its name afterwards. */
const creates = ({ row }: Command) => row !== undefined && Object.hasOwn(createsNoun, row.id);

/** Can it run once per row of a file? It sends one request and the response is not a stream. */
export const takesEach = ({ row, effect, returns }: Command): boolean =>
  row !== undefined && effect !== "reads" && returns.kind !== "events" && returns.kind !== "file";

/** Every shared flag, in the order of the help topic. */
export const sharedFlags: readonly SharedFlag[] = [
  {
    flags: "-L, --limit <rows>",
    help: "Maximum number of rows to show",
    group: "Request",
    only: pages,
  },
  { flags: "--all", help: "Read all pages", group: "Request", only: pages },
  {
    flags: "--page <number>",
    help: "Show one page, counted from 1",
    group: "Request",
    only: numbered,
  },
  {
    flags: "--body <json>",
    help: "More fields of the request body (JSON, @file or -)",
    group: "Request",
    only: bodied,
  },
  {
    flags: "--body-set <path=value>",
    help: "One more field of the request body; the value is JSON or text (repeatable)",
    group: "Request",
    only: bodied,
    repeats: true,
  },
  {
    flags: "--user <name>",
    help: "End user of the request",
    group: "Request",
    only: takesUser,
  },
  {
    flags: "--each <file>",
    help: "Run once per row of a CSV or JSON Lines file (- for stdin); columns are the arguments",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--concurrency <number>",
    help: "With --each: parallel requests, 1 to 50 (default 3, or 1 if the order matters)",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--errors-to <file>",
    help: "With --each: write the failed rows to a file of the same format",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--stop-on-error",
    help: "With --each: stop after the first failed row",
    group: "Request",
    only: takesEach,
  },
  {
    flags: "--if-not-exists",
    help: "Succeed if it already exists",
    group: "Request",
    only: creates,
  },
  {
    flags: "--if-exists",
    help: "Succeed if it does not exist",
    group: "Request",
    only: ({ effect }) => effect === "destroys",
  },
  {
    flags: "-n, --dry-run",
    help: "Print the request without sending it",
    group: "Request",
    only: (command) => writes(command) && sendsAny(command),
  },
  {
    flags: "--curl",
    help: "Print the request as a curl command without sending it",
    group: "Request",
    // A plan consists of several requests.
    only: (command) => writes(command) && sendsAny(command) && !command.task?.plans,
  },
  {
    flags: "-y, --yes",
    help: "Skip confirmation prompts",
    group: "Request",
    only: ({ prompts }) => prompts,
  },
  {
    flags: "--read-only",
    help: "Block all writes",
    group: "Request",
    only: (command) => writes(command) && sendsAny(command),
  },
  {
    flags: "--timeout <duration>",
    help: "Time limit for the command, such as 30s, 5m or 2h",
    group: "Request",
    only: sendsAny,
  },
  {
    flags: "-o, --output <format>",
    help: "Output format",
    choices: (command) => formatsOf(command?.returns),
    group: "Output",
    only: formatted,
  },
  { flags: "--json", help: "Same as -o json", group: "Output", only: formatted },
  {
    flags: "--jq <filter>",
    help: "Filter the JSON with a jq expression; strings are printed raw",
    group: "Output",
    only: prints,
  },
  {
    flags: "--columns <paths>",
    help: "Columns to show, comma-separated; list them with --columns help",
    group: "Output",
    only: (command) => prints(command) && command.returns.kind !== "report",
  },
  { flags: "--no-headers", help: "Omit the header row", group: "Output", only: prints },
  {
    flags: "--safe-cells",
    help: "In csv and tsv: prefix cells with an apostrophe that a spreadsheet would run as formulas",
    group: "Output",
    only: ({ returns }) => formatsOf(returns).includes("csv"),
  },
  { flags: "--sort <column>", help: "Sort the rows by a column", group: "Output", only: lists },
  { flags: "--reverse", help: "Reverse the sort order", group: "Output", only: lists },
  { flags: "--utc", help: "Show times in UTC", group: "Output", only: prints },
  {
    flags: "--relative",
    help: "Show times relative to now, such as 3m ago",
    group: "Output",
    only: prints,
  },
  {
    flags: "--output-file <path>",
    help: "Write the output to a file",
    group: "Output",
    only: ({ returns }) => returns.kind === "file" || returns.kind === "text",
  },
  {
    flags: "--color <when>",
    help: "When to use color",
    choices: () => ["always", "never", "auto"],
    group: "Output",
  },
  { flags: "-q, --quiet", help: "Hide progress and notices", group: "Output" },
  {
    flags: "-v, --verbose",
    help: "Show resolved names, requests and retries; -vv adds headers and bodies, -vvv causes and times",
    group: "Output",
    repeats: true,
  },
  { flags: "-p, --profile <name>", help: "Profile to use", group: "Connection" },
  {
    flags: "--app <name>",
    help: "Application of the profile",
    group: "Connection",
    only: ({ key }) => key !== "dataset",
  },
  { flags: "--base-url <url>", help: "Base URL of the API, ending in /v1", group: "Connection" },
  {
    flags: "--retries <number>",
    help: "Number of retries (default 3, 0 disables)",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--connect-timeout <duration>",
    help: "Connection timeout (default 10s)",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--idle-timeout <duration>",
    help: "Idle timeout: the longest time without data from the server (default 30s)",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--ca-file <path>",
    help: "Additional certificate authority (PEM)",
    group: "Connection",
    only: sendsAny,
  },
  {
    flags: "--insecure-http",
    help: "Allow plain HTTP for non-local hosts",
    group: "Connection",
  },
  { flags: "--no-input", help: "Never prompt", group: "Other", as: "mayPrompt" },
];

/** The shared flags that a command takes. */
export const sharedFlagsOf = (command: Command): readonly SharedFlag[] =>
  sharedFlags.filter(({ only }) => only?.(command) ?? true);

/** Help of a shared flag with its choices: `When to use color (one of: always, never, auto)`. */
export const sharedFlagHelp = ({ help, choices }: SharedFlag, command?: Command): string =>
  choices ? `${help} (one of: ${choices(command).join(", ")})` : help;

/** `-o, --output <format>` → `--output` */
export const longFlag = ({ flags }: SharedFlag): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

/** `-o, --output <format>` → `-o` */
export const shortFlag = ({ flags }: SharedFlag): string | undefined => /^-\w/.exec(flags)?.[0];

/** `-o, --output <format>` → `format`; undefined for a flag without a value. */
export const flagPlaceholder = ({ flags }: SharedFlag): string | undefined =>
  /<(.+)>/.exec(flags)?.[1];

/** Values of the shared flags, by long name in camel case. */
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
  readonly mayPrompt?: boolean;
}
