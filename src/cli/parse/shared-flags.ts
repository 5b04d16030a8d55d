import { isList, retryOf, type AnyOperation, type Param } from "../../operations/operation.ts";
import { formatsOf } from "../../output/style.ts";
import { flagOf, flagParams, isNegatable, placeholder, takesUser, valueUsage } from "./command.ts";
import type { Command } from "./command.ts";

/** A flag that many commands share. */
export interface SharedFlag extends Flag {
  /** Field of `Globals`. */
  readonly key: string;
  /** Allowed values for a command, or for any command; help lists them. */
  readonly choices?: ((command: Command | undefined) => readonly string[]) | undefined;
  /** Commands that take it. */
  readonly only: (command: Command) => boolean;
  /** Commands that take it several times. */
  readonly repeatsFor?: ((command: Command) => boolean) | undefined;
}

/** `key` differs from the name where a command's own flag would take the usual one (`--input`). */
type Extras = Partial<Pick<SharedFlag, "repeats" | "repeatsFor" | "choices" | "key" | "meant">>;

/** Declares a flag by its usage, `-o, --output <format>`, from which its type follows. */
function flag<const F extends string, const X extends Extras = Record<never, never>>(
  usage: F,
  help: string,
  only: SharedFlag["only"] = () => true,
  extras?: X,
): SharedFlag & X & { readonly usage: F } {
  // Without patterns, which V8 would compile at each start.
  const start = usage.indexOf("--");
  const [long = "", placeholder] = usage.slice(start).split(" ");
  const short = start === 0 ? undefined : usage.slice(0, 2);
  const value = placeholder?.slice(1, -1);
  const parsed = { usage, short, long, value, help, only, repeats: false, key: optionName(long) };
  return { ...parsed, ...extras } as SharedFlag & X & { readonly usage: F };
}

const writes = ({ effect }: Command) => effect !== "reads";
const sendsAny = ({ requests }: Command) => requests;
const sendsWrites = (command: Command) => writes(command) && sendsAny(command);
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
const creates = ({ row }: Command) => row?.creates !== undefined;
const always = () => true;

/** Can it run once per row of a file? It sends one request, without a stream, or is a task for it. */
export const takesEach = ({ row, task, effect, returns }: Command): boolean =>
  (row ?? task?.each) !== undefined &&
  effect !== "reads" &&
  returns.kind !== "events" &&
  returns.kind !== "file";

/** The argument that --where can stand for: several documents that the command changes. */
export function matchedDocuments({ positionals, params, effect }: Command): string | undefined {
  const { name = "", variadic = false } = positionals.at(-1) ?? {};
  const isMatched = effect !== "reads" && variadic && params[name]?.noun === "document";
  return isMatched ? name : undefined;
}

/** Is it a list that --where filters, or does that stand for its documents? Tasks may have a flag of their own. */
export const takesWhere = (command: Command) =>
  (command.row !== undefined && command.pages) || matchedDocuments(command) !== undefined;

const mayPrompt = (command: Command) => command.prompts || matchedDocuments(command) !== undefined;

const sendsMany = (command: Command) => takesEach(command) || command.task?.parallel === true;

const changesKb = (row: AnyOperation) => row.key === "dataset" && retryOf(row) !== "safe";

/** The argument that names the knowledge base which a command changes, by parameter. */
export const changedKb = (command: Command): string | undefined =>
  command.key !== "dataset" || !writes(command) || !command.sends.some(changesKb)
    ? undefined
    : command.positionals.find(({ name }) => {
        const param = command.params[name];
        return param?.noun === "kb" && !param.many;
      })?.name;

/** Every shared flag by group, in the order of the help topic. */
const groups = {
  Request: [
    flag("-L, --limit <rows>", "Maximum number of rows to show", pages, {
      meant: ["-n", "--page-size"],
    }),
    flag("--all", "Read all pages", pages),
    flag("--page <number>", "Show one page, counted from 1", numbered),
    flag(
      "--where <condition>",
      "Only rows that match a condition, such as 'words > 100', or in place of named documents those that match (repeatable)",
      takesWhere,
      { repeats: true, key: "matching" },
    ),
    flag("--body <json>", "More fields of the request body (JSON, @file or -)", bodied),
    flag(
      "--body-set <path=value>",
      "One more field of the request body; the value is JSON or text (repeatable)",
      bodied,
      { repeats: true },
    ),
    flag("--user <name>", "End user of the request", takesUser, { meant: ["--username"] }),
    flag(
      "--each <file>",
      "Run once per row of a CSV or JSON Lines file (- for stdin); columns are the arguments",
      takesEach,
      { meant: ["--batch"] },
    ),
    flag(
      "--concurrency <max>",
      "Maximum number of parallel requests, 1 to 50 (default 8, or 1 if the order matters)",
      sendsMany,
      { meant: ["--parallel", "-j"] },
    ),
    flag(
      "--errors-to <file>",
      "With --each: write rows that failed or were not sent to a file of the same format",
      takesEach,
    ),
    flag(
      "--allow-files <dir>",
      "Also read files there that the rows or the file name; others must be below the directory of that file (repeatable)",
      (command) => takesEach(command) || command.task?.namesFiles === true,
      { repeats: true },
    ),
    flag("--stop-on-error", "With --each: stop after the first failed row", takesEach),
    flag("--if-not-exists", "Succeed if it already exists", creates),
    flag("--if-exists", "Succeed if it does not exist", ({ effect }) => effect === "destroys"),
    flag("-n, --dry-run", "Print the request without sending it", sendsWrites),
    flag(
      "--curl",
      "Print the request as a curl command without sending it",
      // A plan consists of several requests.
      (command: Command) => sendsWrites(command) && !command.task?.plans,
    ),
    flag("-y, --yes", "Skip confirmation prompts", mayPrompt, {
      meant: ["--force", "-f"],
    }),
    flag(
      "--backup",
      "Back up the knowledge base before and after, so that kb undo can undo the command",
      (command: Command) => changedKb(command) !== undefined,
    ),
    flag(
      "--backup-dir <dir>",
      "Directory of these backups (implies --backup; default: one of kb's own)",
      (command: Command) => changedKb(command) !== undefined,
    ),
    flag("--read-only", "Block all writes", sendsWrites),
    flag("--timeout <duration>", "Time limit for the command, such as 30s, 5m or 2h", sendsAny),
  ],
  Output: [
    flag("-o, --output <format>", "Output format", formatted, {
      choices: (command?: Command) => formatsOf(command?.returns),
      meant: ["--format", "-f"],
    }),
    flag("--json", "Same as -o json", formatted),
    flag(
      "--jq <filter>",
      "Filter the JSON with a jq expression; strings are raw, and only arithmetic rounds long numbers",
      prints,
      { meant: ["--template"] },
    ),
    flag(
      "--columns <paths>",
      "Columns to show, comma-separated; +NAME adds one to the default ones; list them with --columns help",
      (command) => prints(command) && command.returns.kind !== "report",
      { meant: ["--fields"] },
    ),
    flag("--no-headers", "Omit the header row", prints),
    flag(
      "--safe-cells",
      "In csv and tsv: prefix cells with an apostrophe that a spreadsheet would run as formulas",
      ({ returns }) => formatsOf(returns).includes("csv"),
    ),
    flag("--sort <column>", "Sort all rows by a column, and show the first", lists, {
      meant: ["--order-by"],
    }),
    flag("--reverse", "Reverse the order of all rows, and show the first", lists),
    flag("--utc", "Show times in UTC", prints),
    flag("--relative", "Show times relative to now, such as 3m ago", prints),
    flag(
      "--output-file <path>",
      "Write the output to a file, which appears once it is complete",
      ({ returns }) => returns.kind !== "nothing",
    ),
    flag("--color <when>", "When to use color", always, {
      choices: () => ["always", "never", "auto"],
    }),
    flag("-q, --quiet", "Hide progress and notices", always, { meant: ["--silent", "-s"] }),
    flag(
      "-v, --verbose",
      "Show resolved names, requests and retries; -vv adds headers and bodies, -vvv causes and times",
      always,
      { repeats: true, meant: ["--debug"] },
    ),
  ],
  Connection: [
    flag("-p, --profile <name>", "Profile to use", always, { meant: ["--context"] }),
    flag("--app <name>", "Application of the profile", ({ key }) => key !== "dataset", {
      repeatsFor: (command: Command) => command.task?.manyApps === true,
    }),
    flag("--base-url <url>", "Base URL of the API, ending in /v1", always, {
      meant: ["--url", "--host"],
    }),
    flag("--retries <number>", "Number of retries (default 3, 0 disables)", sendsAny),
    flag("--connect-timeout <duration>", "Connection timeout (default 10s)", sendsAny),
    flag(
      "--idle-timeout <duration>",
      "Idle timeout: the longest time without data from the server (default 30s)",
      sendsAny,
    ),
    flag("--ca-file <path>", "Additional certificate authority (PEM)", sendsAny),
    flag("--insecure-http", "Allow plain HTTP for non-local hosts"),
  ],
  Other: [flag("--no-input", "Never prompt", always, { key: "mayPrompt" })],
};

/** The shared flags by group. */
export const sharedFlagGroups: Readonly<Record<keyof typeof groups, readonly SharedFlag[]>> =
  groups;

/** Every shared flag. */
export const sharedFlags: readonly SharedFlag[] = Object.values(sharedFlagGroups).flat();

/** The shared flags that a command takes. */
export const sharedFlagsOf = (command: Command): readonly SharedFlag[] =>
  sharedFlags.filter(({ only }) => only(command));

/** Every flag of a command. */
export const flagsOf = (command: Command): readonly (OwnFlag | SharedFlag)[] => [
  ...ownFlags(command),
  ...sharedFlagsOf(command),
];

/** Is the command to be backed up around? */
export const asksForBackup = ({ backup, backupDir }: Globals): boolean =>
  backup === true || backupDir !== undefined;

/** Help of a shared flag with its choices: `When to use color (one of: always, never, auto)`. */
export const sharedFlagHelp = ({ help, choices }: SharedFlag, command?: Command): string =>
  choices ? `${help} (one of: ${choices(command).join(", ")})` : help;

type Camel<S> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;
type LongName<U> = U extends `${string}--${infer L} <${string}` | `${string}--${infer L}`
  ? L
  : never;
type PositiveName<L> = L extends `no-${infer Name}` ? Name : L;
type KeyOf<D extends Declared> = string extends D["key"]
  ? Camel<PositiveName<LongName<D["usage"]>>>
  : D["key"];
type OneValue<D extends Declared> = D["usage"] extends `${string}<${string}` ? string : boolean;
type Declared = (typeof groups)[keyof typeof groups][number];

/** Values of the shared flags: `--dry-run` is `dryRun`, and `mayPrompt` is false with `--no-input`. */
export type Globals = {
  readonly [D in Declared as KeyOf<D>]?: D["repeats"] extends true
    ? readonly OneValue<D>[]
    : OneValue<D>;
} & {
  /** The values of --app, of a command that takes several. */
  readonly apps?: readonly string[];
};

/** A flag as the parser, help, completion and the reference read it. */
export interface Flag {
  /** `-o, --output <format>`, or `[format]` where the value is optional. */
  readonly usage: string;
  /** `--output` */
  readonly long: string;
  /** `-o` */
  readonly short?: string | undefined;
  /** Word for its value; undefined for a flag without one. */
  readonly value?: string | undefined;
  /** Its value where it is given without one. */
  readonly bareValue?: string | undefined;
  readonly help: string;
  /** Flags of other programs for the same. */
  readonly meant?: readonly string[] | undefined;
  readonly repeats: boolean;
}

/** A flag of a parameter. */
export interface OwnFlag extends Flag {
  readonly name: string;
  readonly param: Param;
  /** It gives the value, false, or the path of a file with the value. */
  readonly role: "value" | "no" | "file";
}

/** Each start asks twice for the flags of its command. */
const known = new WeakMap<Command, readonly OwnFlag[]>();

/** The flags of a command's parameters. */
export function ownFlags(command: Command): readonly OwnFlag[] {
  const flags = known.get(command) ?? readFlags(command);
  known.set(command, flags);
  return flags;
}

const readFlags = (command: Command): OwnFlag[] =>
  flagParams(command).flatMap(([name, param]): OwnFlag[] => {
    const { help, many = false, range, meant } = param;
    const long = `--${flagOf(name, param)}`;
    const short = param.short && `-${param.short}`;
    const value = param.kind === "flag" ? undefined : placeholder(param);
    const usage = `${long}${valueUsage(param)}`;
    const own = { name, param, help, repeats: false };
    return [
      {
        ...own,
        role: "value",
        usage: short === undefined ? usage : `${short}, ${usage}`,
        repeats: many,
        meant,
        long,
        short,
        value,
        bareValue: value?.startsWith("[") ? String(range?.[0]) : undefined,
      },
      ...(param.orFile ? [variant(own, "file", `${long}-file`, "path")] : []),
      ...(isNegatable(param) ? [variant(own, "no", long.replace("--", "--no-"))] : []),
    ];
  });

const variant = (
  own: Pick<OwnFlag, "name" | "param" | "help" | "repeats">,
  role: OwnFlag["role"],
  long: string,
  value?: string,
): OwnFlag => ({ ...own, role, long, value, usage: value ? `${long} <${value}>` : long });

/** The name of a flag's value among commander's options: `--no-headers` → `headers`. */
export function optionName(long: string): string {
  const words = long.split("-").filter(Boolean);
  const [first = "", ...rest] = words[0] === "no" ? words.slice(1) : words;
  return first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
