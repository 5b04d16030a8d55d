import { exitCodes } from "../../errors.ts";
import { sharedFlagGroups, sharedFlagHelp } from "../parse/shared-flags.ts";
import { conditionsTopic } from "./conditions-topic.ts";
import { renderPage } from "./layout.ts";
import type { HelpBlock, HelpRow } from "./layout.ts";
import type { TopicName } from "./topic-names.ts";

/** The page of a topic; its first line is the title. */
export const topicText = (name: TopicName, width: number): string =>
  renderPage(topics[name], width);

/** Groups of shared flags with the commands that take them. */
export const flagGroups: readonly (readonly [
  group: keyof typeof sharedFlagGroups,
  title: string,
])[] = [
  ["Request", "Requests and confirmation"],
  ["Output", "Output"],
  ["Connection", "Connection"],
  ["Other", "Other"],
];

const flagRows = (group: keyof typeof sharedFlagGroups): HelpRow[] =>
  sharedFlagGroups[group].map((flag) => [
    flag.short === undefined ? `    ${flag.usage}` : flag.usage,
    sharedFlagHelp(flag),
  ]);

const topics: Readonly<Record<TopicName, readonly HelpBlock[]>> = {
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
  environment: [
    "Environment variables",
    {
      title: "Settings",
      rows: [
        ["KB_BASE_URL", "base URL of the API, ending in /v1"],
        ["KB_KEY", "knowledge key (dataset-…)"],
        ["KB_APP_KEY", "application key (app-…)"],
        ["KB_APP", "application of the profile"],
        ["KB_USER", "end user of runs and messages"],
        ["KB_PROFILE", "profile to use"],
        ["KB_OUTPUT", "output format, as -o"],
        ["KB_NO_INPUT", "never prompt, as --no-input"],
        ["KB_NO_KEYRING", "do not use the keyring; store keys in the profile file"],
        ["KB_TIMEOUT", "as --timeout"],
        ["KB_RETRIES", "as --retries"],
        [
          "KB_DATASET_IDS",
          "knowledge bases of a key that is limited to some: IDs or name=ID, comma-separated",
        ],
        ["KB_ERROR_FORMAT", "json: print errors as one JSON line on stderr"],
        ["KB_DEBUG", "1, 2 or 3: as -v, -vv, -vvv"],
        ["KB_KEEP_ERRORS", "0: do not log failures for `doctor --last-error`"],
        ["KB_ACCESSIBLE", "1: no redrawing, spinner, box drawing or pager"],
        ["KB_CONFIG_DIR", "directory of the profiles"],
        ["KB_STATE_DIR", "directory of logs and journals"],
        ["KB_DATA_DIR", "directory of the sandbox"],
        ["KB_CACHE_DIR", "directory of the cache"],
      ],
    },
    "Each setting is read from the first of these: flag, -p on the command line, KB_ variable, profile, DIFY_ variable (DIFY_BASE_URL or DIFY_API_URL, DIFY_API_KEY), default. Empty variables count as unset. `config explain` shows every setting and its source.",
    {
      title: "Standard variables",
      rows: [
        ["HTTPS_PROXY, HTTP_PROXY", "proxy as http://name:password@host:port; also in lower case"],
        ["NO_PROXY", "hosts that are reached without the proxy"],
        ["NODE_EXTRA_CA_CERTS", "certificate authorities; --ca-file adds to them"],
        ["NO_COLOR, FORCE_COLOR", "disable or force color; also CLICOLOR_FORCE"],
        ["PAGER", "pager for long help pages (default less -FRX); empty or cat: none"],
        ["TERM, TZ, CI", "terminal type, time zone, continuous integration"],
      ],
    },
    "The proxy is used through a tunnel (CONNECT), for plain HTTP as well. HTTP_PROXY also applies to https URLs if HTTPS_PROXY is not set. Lower-case names take precedence.",
  ],
  output: [
    "Output",
    "stdout contains only the result. Notices, progress, prompts and errors go to stderr.",
    "A list is printed as a table on a terminal and as tab-separated values without a header in a pipe. -o selects another format; see `help formats`.",
    {
      title: "Lists",
      rows: [
        ["--all, -L 50, --page 2", "all pages, a number of rows, one page (default: page 1)"],
        ["--columns id,name", "select columns by path; list them with --columns help"],
        ["--sort name --reverse", "order the rows shown, in every format"],
        ["--no-headers", "omit the header row"],
        ["--utc, --relative", "times in tables; JSON keeps the values of the server"],
      ],
    },
    {
      title: "JSON",
      rows: [
        ["--json", "same as -o json"],
        ["--jq '.[].name'", "filter with the jq language; strings are printed raw"],
      ],
    },
    "Reports consist of several tables. On a terminal they include charts, drawn in ASCII with KB_ACCESSIBLE, TERM=dumb or a locale without UTF-8.",
  ],
  formats: [
    "Output formats (-o)",
    {
      rows: [
        ["grid", "table with the main columns (default for lists on a terminal)"],
        ["wide", "table with all columns"],
        ["tsv", "tab-separated values with a header row; tabs and newlines as \\t, \\n"],
        ["csv", "comma-separated values (RFC 4180)"],
        ["md", "Markdown table"],
        ["json", "one JSON array or object"],
        ["jsonl", "one JSON value per line, written as rows arrive"],
        ["yaml", "YAML"],
        ["name", "IDs only, one per line"],
        ["svg", "picture of a report, for commands that draw one"],
      ],
    },
    "json, jsonl and yaml keep the fields and values of the server. In tsv, csv and md nested values are compact JSON.",
    "--safe-cells prefixes cells of csv and tsv with an apostrophe if a spreadsheet would run them as formulas.",
    "A report in tsv has its titles and notes as lines that start with #. csv separates its tables by an empty line. json, yaml and --jq return its figures as data.",
    "The --help page of a command lists its formats if they differ from these.",
  ],
  flags: [
    "Common flags",
    "The --help page of a command lists the request flags that it takes. Common flags can also precede the command: `kb -p staging list`.",
    ...flagGroups.map(([group, title]): HelpBlock => ({ title, rows: flagRows(group) })),
    {
      title: "Help",
      rows: [
        ["-h", "short help of a command"],
        ["    --help", "help with exit codes and requests"],
        ["-V, --version", "version of the program"],
      ],
    },
  ],
  conditions: conditionsTopic,
  follow: [
    "Following runs",
    {
      rows: [
        ["wf events RUN", "print past and live events until the stream ends"],
        [
          "wf events RUN --follow",
          "reconnect until the run has ended, print every event once, and confirm the end with the run's details",
        ],
        ["--through-pauses", "continue when the run is paused for human input"],
        ["-o jsonl", "events as the server sends them, one per line"],
        [
          "wf logs --follow",
          "print runs as they start and again when their status changes, oldest first",
        ],
      ],
    },
    "On a terminal, a run is drawn live: active nodes with their time and iteration, and the text as it grows. In a pipe, with KB_ACCESSIBLE, CI or TERM=dumb, for several runs and with --only, each event is one line.",
    "The server does not resend text that was streamed while the connection was lost; the gap is announced. Ctrl-C stops following and never stops the run.",
    {
      title: "Exit codes",
      rows: [
        ["0", "the run succeeded"],
        ["8", "paused, waiting for human input"],
        ["9", "the run failed or was stopped"],
        ["11", "network error"],
        ["12", "--timeout expired"],
        ["13", "lost the event stream before the run ended"],
      ],
    },
  ],
  recordings: [
    "Recordings of runs",
    {
      rows: [
        ["wf run --record FILE", "write the events of a run to a new file, with their times"],
        ["wf events RUN --record FILE", "the same for a run that has already started"],
        ["wf replay FILE", "show the run again and exit as it did"],
        ["wf timeline FILE", "show when each node started and ended"],
        ["wf diff A B", "compare two runs"],
      ],
    },
    'A recording is JSON Lines: {"recording":1,"program","started_at"}, then {"at","event"} for each event (milliseconds since the first, the event as the server sent it), and {"end":{"exit","why"}} if the command ended normally. The output of `wf events -o jsonl` works as well; its times have a resolution of one second.',
    "Credentials are always masked: keys, Authorization, cookies and similar headers and fields, signatures and passwords in URLs. --redact also replaces the texts and numbers of inputs, outputs, answers, forms and errors by their length or type. Titles and IDs of nodes, field names, statuses, times and tokens remain, so timeline, diff and the expectations about them still work.",
  ],
  scripting: [
    "Scripting",
    'Check the exit code; `help exit-codes` lists them. With -o json, -o jsonl or KB_ERROR_FORMAT=json, the last line of stderr is one JSON object: {"error":{"code","message","hint","exit",…}}.',
    {
      title: "Examples",
      lines: [
        "id=$(kb create Handbook --indexing-technique economy -o name)",
        'kb doc list "$id" --all -o jsonl',
        "kb tag list --jq '.[].name'",
        'wf run --input query=hello -o json || echo "exit code $?"',
        "kb doc delete Handbook old.md --yes",
      ],
    },
    "Without a terminal nothing prompts, and deletes need --yes. --dry-run prints the request, --curl prints it as a curl command, and --read-only blocks writes.",
    "Redirects are not followed. Retry-After is honored up to 5 minutes. Responses over 64 MiB are rejected, except files and event streams.",
    "For programs, `help --json` describes all commands, `help <command> --json` one command, and `help --json --compact` lists names and summaries.",
  ],
  auth: [
    "Keys",
    "kb uses a knowledge key (dataset-…) and wf an application key (app-…); create them in the web console of the platform. Keys are never passed as arguments:",
    {
      lines: [
        "  kb profile add work --base-url https://example.com/v1 --key-file -   < key",
        "  kb profile add work --key-command 'pass show work/kb'",
        "  KB_KEY=… kb list",
      ],
    },
    "A profile has one knowledge key and application keys by name:",
    {
      lines: [
        "  wf profile add work --app support --key-file -   < key",
        "  wf --app support logs",
      ],
    },
    "Keys are stored in the OS keyring if it responds within two seconds, otherwise in the profile file (mode 0600). A notice and `profile show` tell where. --insecure-storage and KB_NO_KEYRING select the file. A stored key whose keyring does not respond exits with 4.",
    "A stored key is only sent to the base URL of its profile. `doctor` checks every key and shows where it works.",
  ],
  names: [
    "Names and IDs",
    "Knowledge bases, documents, tags and metadata fields can be given by name or by ID. A UUID is an ID; everything else is a name, which must match exactly. The prefixes name: and id: make it explicit:",
    {
      lines: [
        "  kb show Handbook",
        "  kb show id:0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e",
        "  kb tag delete name:2024",
      ],
    },
    "An unknown name exits with 3; an ambiguous one exits with 5 and lists the matches. A name costs an additional request, an ID does not.",
  ],
};
