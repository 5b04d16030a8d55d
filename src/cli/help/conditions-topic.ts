import { claimForms, runForms } from "../../commands/conditions/index.ts";
import { nodeForms, noForms, runFields } from "../../commands/wf/expect/index.ts";
import { logFields } from "../../commands/wf/log-filters.ts";
import { figureNames } from "../../commands/wf/stats-fields.ts";
import type { HelpBlock } from "./layout.ts";

const namesOf = (table: object): string => Object.keys(table).join(", ");

const sentences = (words: string, forms: object): string[] =>
  Object.keys(forms).map((pattern) => `${words} ${pattern}`);

/** The topic about --where, --fail-if and --expect, with the names and sentences that they take. */
export const conditionsTopic: readonly HelpBlock[] = [
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
  "--expect also takes a YAML file (repeatable). It lists conditions under checks, with short forms for common ones:",
  {
    lines: [
      "    name: Support flow",
      "    checks: [run succeeded, no retries or run took less than 10s]",
      "    required: [Start, Review]",
      "    forbidden: [Escalate]",
      "    order: [[Start, Review, End]]",
      "    within: {run: 2m, nodes: {Review: 30s}}",
      "    tokens: {max: 5000, nodes: {Answer: 1000}}",
      "    outputs:",
      "      answer: {contains: refund, matches: /ticket \\d+/i}",
      "      score: {equals: 1, exists: true}",
    ],
  },
  "Expectations decide the exit code for what they mention: with `run failed`, a failed run exits with 0. Without a condition about the end of the run, its status counts as usual (8, 9). A paused run exits with 8 and nothing is checked, unless a condition is `run paused`. A lost stream (13), --timeout (12) and an interrupt (130) keep their codes.",
  "--junit FILE writes the result as JUnit XML in every case; unchecked expectations count as failed. In GitHub Actions, unmet expectations also appear as annotations at their line of the file.",
];
