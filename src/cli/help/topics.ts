import { exitCodes } from "../../errors.ts";
import { sharedFlagGroups, sharedFlagHelp } from "../parse/shared-flags.ts";
import { renderPage } from "./layout.ts";
import type { HelpBlock, HelpRow } from "./layout.ts";
import type { TopicName } from "./topic-names.ts";
import auth from "./topics/auth.md?raw";
import environment from "./topics/environment.md?raw";
import follow from "./topics/follow.md?raw";
import formats from "./topics/formats.md?raw";
import names from "./topics/names.md?raw";
import output from "./topics/output.md?raw";
import recordings from "./topics/recordings.md?raw";
import scripting from "./topics/scripting.md?raw";
import times from "./topics/times.md?raw";
import { claimForms, runForms } from "../../commands/conditions/index.ts";
import { nodeForms, noForms, runFields } from "../../commands/wf/expect/index.ts";
import { logFields } from "../../commands/wf/logs/filters.ts";
import { figureNames } from "../../commands/wf/stats/fields.ts";

/** The page of a topic; its first line is the title. */
export function topicText(name: TopicName, width: number): string {
  const topic = topics[name];
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

const namesOf = (table: object): string => Object.keys(table).join(", ");

const sentences = (words: string, forms: object): string[] =>
  Object.keys(forms).map((pattern) => `${words} ${pattern}`);

/** The topic about --where, --fail-if and --expect, with the names and sentences that they take. */
const conditionsTopic: readonly HelpBlock[] = [
  "Conditions",
  "--where selects runs, --fail-if fails a command, --expect checks a run. A condition is a comparison or a sentence; and, or, not and parentheses join them. Quote it, because the shell treats < and > as redirections.",
  {
    title: "Examples",
    lines: [
      "wf logs --where 'status=failed and elapsed>20s' --where 'error~timeout'",
      "wf stats --fail-if 'p95>20s' --fail-if 'failed>2% and runs>10'",
      "kb eval Handbook questions.jsonl --fail-if 'recall@5<90%'",
      "wf run --expect 'run succeeded within 2m and output score >= 0.8'",
    ],
  },
  {
    title: "Operators",
    rows: [
      ["> >= < <= = !=", "compare numbers, durations and shares"],
      ["= !=", "compare text"],
      ["~ !~", "text contains, does not contain (case-insensitive)"],
    ],
  },
  {
    title: "Values",
    rows: [
      ["20s, 1m30s, 250ms", "duration; a number without a unit is seconds"],
      ["2%, 0.02", "share"],
      [
        "'timeout'",
        "text, optionally in quotes; without them it ends before and or or with a further comparison",
      ],
    ],
  },
  {
    title: "Fields",
    rows: [
      ["wf logs, wf stats --where", namesOf(logFields)],
      ["wf stats --fail-if", figureNames.join(", ")],
      [
        "kb eval --fail-if",
        "the metrics of the report, such as recall@5 and mrr; with --baseline also their differences, such as mrr.change",
      ],
      ["--expect", `${namesOf(runFields)}, output PATH (output answer, output items.0.name)`],
    ],
  },
  {
    title: "Sentences",
    lines: [
      ...sentences("FIELD", claimForms),
      ...sentences("run", runForms),
      ...sentences("node NODE", nodeForms),
      '"Start" before [node] NODE',
      ...sentences("no", noForms),
      "cited DOCUMENT",
    ],
  },
  {
    title: "Words",
    rows: [
      ["NODE", '"Title" or ID, without quotes if it is one word; type llm'],
      ["BOUND", "at least, at most, exactly, less than, more than"],
      ["TIME", "30s, 1m30s, 250ms, as measured by the server"],
      ["/pattern/i", "regular expression with the flags i, m, s, u, v"],
    ],
  },
  "--where takes the sentences about FIELD and run, --fail-if those about FIELD, --expect all of them. A condition of --fail-if that holds, or an expectation that is not met, ends the command with exit code 14. Several conditions of --where must all hold.",
  "A node that ran several times must meet a sentence each time; its first execution counts for before. The tokens of a node are those of all its executions. A pattern is matched against the first 65536 characters, for at most one second. Unknown facts do not meet an expectation: events in a gap of the stream or in damaged lines of a recording, retries and pauses before the command started, redacted texts and numbers.",
  "--expect also takes a YAML file (repeatable) with conditions under checks:",
  {
    lines: [
      "    name: Support flow",
      "    checks:",
      "      - run succeeded within 2m",
      "      - no retries or run took less than 10s",
      '      - node "Start" before "Review"',
      '      - output answer contains "refund"',
    ],
  },
  "Expectations decide the exit code for what they mention: with `run failed`, a failed run exits with 0. Without a condition about the end of the run, its status counts as usual (8, 9). A paused run exits with 8 and nothing is checked, unless a condition is `run paused`. A lost stream (13), --timeout (12) and an interrupt (130) keep their codes.",
  "--junit FILE writes the result as JUnit XML in every case; unchecked expectations count as failed. In GitHub Actions, unmet expectations also appear as annotations at their line of the file.",
];

const topics: Readonly<Record<TopicName, string | readonly HelpBlock[]>> = {
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
    ...flagGroups.map(([group, title]): HelpBlock => ({ title, rows: flagRows(group) })),
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
  conditions: conditionsTopic,
  times,
  follow,
  recordings,
  scripting,
  auth,
  names,
};
