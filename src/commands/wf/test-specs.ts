import { listAnnotations } from "../../operations/annotations.ts";
import { getAppInfo, getAppParameters, getEndUser } from "../../operations/apps.ts";
import { listFeedback, listMessages, sendMessage } from "../../operations/chats.ts";
import { createCompletion } from "../../operations/completions.ts";
import { uploadFile } from "../../operations/files.ts";
import { listDocuments } from "../../operations/documents.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../operations/knowledge.ts";
import {
  list,
  local,
  record,
  report,
  textChunks,
  withNamePath,
} from "../../operations/operation.ts";
import { required } from "../../operations/shared.ts";
import {
  getWorkflowRun,
  listWorkflowLogs,
  runWorkflow,
  streamRunEvents,
} from "../../operations/workflows.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";
import { logFilters } from "./logs/filters.ts";

/** Parameters of the commands that judge the results of tests. */
export const resultParams = {
  baseline: local.text("Compare with the results of an earlier run, from --save", {
    placeholder: "file",
  }),
  level: local.number("Level of significance (default 0.05)", { range: [0.0001, 0.5] }),
  save: local.text("Save the results to this file, for --baseline", {
    isOutputPath: true,
  }),
  junit: local.text("JUnit report to write, one case per test", {
    isOutputPath: true,
  }),
} as const;

export const testRunParams = {
  suites: local.text("Files of tests (YAML, CSV, JSON Lines)", {
    many: true,
    required,
    placeholder: "suite",
  }),
  only: local.text("Only tests with this tag or part of a name (* is any text)", {
    many: true,
    placeholder: "tag|name",
  }),
  failed_from: local.text("Only tests that did not pass in these results of --save", {
    placeholder: "file",
  }),
  repeat: local.integer("How often each test runs (default 1)", { range: [1, 1000] }),
  fail_fast: local.flag("Ask nothing more after the first failure"),
  shard: local.text("Run one share of the tests: 3/8, auto or auto/8", { placeholder: "share" }),
  ...resultParams,
  keep: local.choice(["failed", "all"], "Keep recordings of these runs"),
  keep_to: local.text("Directory of recordings (default wf-test-recordings)", {
    placeholder: "dir",
  }),
  redact: local.flag("Record the lengths of texts instead of the texts"),
} as const;

const testRun = task({
  command: "wf test run <suite...>",
  action: "run tests",
  summary: "Run suites of tests against applications",
  about:
    "A suite is a YAML file: name, app, user, defaults, and tests with a name, a query or inputs (or\nseveral turns of a conversation), tags, repeat, skip, only, answer and compare, judge, and expect:\nconditions as in `wf help conditions`. In CSV and JSON Lines, each row is a test, and inputs.NAME the\ncolumn of an input. Tests with search also need the\nknowledge key. --app is the application of suites that name none.\n\nExits with 14 if a test failed, and with 10 if one could not be judged. With --baseline it exits with\n14 if a test is broken: it passed less often than before, by Fisher's exact test corrected for the\nnumber of tests, or never instead of always; and if an expectation is not met that was met before.\n\nThe same command continues after a kill, an interrupt or --timeout (12), and asks nothing twice whose\nanswer it has recorded. -o jsonl prints each result as soon as it is known.",
  parallel: true,
  params: testRunParams,
  namesFiles: true,
  returns: report,
  sends: [
    getAppInfo,
    getAppParameters,
    sendMessage,
    createCompletion,
    uploadFile,
    streamRunEvents,
    getWorkflowRun,
    listMessages,
    listKnowledgeBases,
    getKnowledgeBase,
    listDocuments,
    searchKnowledgeBase,
  ],
  wraps: runWorkflow,
  effect: "writes",
  runsToEnd: true,
  exits: ["deadline", "partial", "gate"],
  examples: [
    "wf --app echo test run suite.yaml",
    "wf --app echo test run suite.yaml --repeat 3 --save results.json",
    "wf --app echo test run suite.yaml --shard 1/2 --save shard-1.json --keep failed",
    "wf --app echo test run suite.yaml --baseline before.json --junit tests.xml -o md",
  ],
  load: () => import("./test/run.ts"),
});

export const testMergeParams = {
  results: local.text("Files of --save, one of each shard", {
    many: true,
    required,
    placeholder: "file",
  }),
  ...resultParams,
} as const;

const testMerge = task({
  command: "wf test merge <results...>",
  action: "merge results of tests",
  summary: "Merge the results of shards",
  about:
    "Prints and judges the results that `wf test run --shard` has saved, as one run of all tests would:\nsame report, same exit code. A shard that is missing or there twice is an error, and so are shards of\ndifferent suites, flags or servers.",
  params: testMergeParams,
  returns: report,
  effect: "reads",
  runsToEnd: true,
  exits: ["auth", "network", "deadline", "partial", "gate"],
  examples: [
    "wf test merge shard-1.json shard-2.json",
    "wf test merge shard-1.json shard-2.json --baseline before.json -o md",
  ],
  load: () => import("./test/merge.ts"),
});

const testSchema = task({
  command: "wf test schema",
  action: "print the schema of suites",
  summary: "Print the JSON Schema of a suite",
  about:
    "For editors, which then complete the keys of a suite and mark mistakes. With the YAML language server,\nthe first line of a suite names the file: # yaml-language-server: $schema=suite.schema.json",
  params: {},
  returns: { kind: "json" },
  sends: [],
  effect: "reads",
  examples: [
    "wf test schema > suite.schema.json",
    "wf test schema --jq '.definitions.test.properties | keys[]'",
  ],
  load: () => import("./test/file/schema.ts"),
});

const suiteSources = ["annotations", "feedback", "logs", "rows"] as const;

export const testInitParams = {
  from: local.choice(suiteSources, "Where questions and answers come from", { required }),
  file: local.text("With --from rows: file with questions and answers (CSV or JSON Lines)"),
  keyword: local.text("Only annotations or runs that contain this text"),
  created_at__after: logFilters.created_at__after,
  created_at__before: logFilters.created_at__before,
  created_by_end_user_session_id: logFilters.created_by_end_user_session_id,
  created_by_account: logFilters.created_by_account,
  where: logFilters.where,
  input: local.text("With --from rows: input of a workflow that gets the question", {
    placeholder: "name",
  }),
  limit: local.integer("Maximum number of tests (default 100)", { range: [1, 10_000], short: "L" }),
  out: local.text("File to write (default: stdout)", { placeholder: "file", length: [1, 4096] }),
  overwrite: local.flag("Overwrite an existing file"),
} as const;

const testInit = task({
  command: "wf test init [file]",
  action: "create tests",
  summary: "Create a suite of tests from questions and answers that exist",
  about:
    "annotations: all of them. feedback: liked messages without a dislike, after those before them in\ntheir conversation. logs: succeeded runs; short outputs are expected to be the same, otherwise the text is\nthe answer. rows: a file with columns such as question and answer.\n\nThe same question becomes one test. The answers are drafts, compared by similarity: read them before\nyou rely on them.",
  params: testInitParams,
  returns: withNamePath("file", record("file tests duplicates skipped")),
  output: ({ out = "-" }) => (out === "-" ? textChunks : undefined),
  sends: [
    getAppInfo,
    listAnnotations,
    listFeedback,
    getEndUser,
    listMessages,
    listWorkflowLogs,
    getWorkflowRun,
  ],
  effect: "reads",
  runsToEnd: true,
  examples: [
    "wf --app chat test init --from annotations",
    "wf --app chat test init --from feedback --out liked.yaml",
    "wf --app echo test init --from logs --since 7d --limit 20",
    "wf --app chat test init --from rows annotations.csv",
  ],
  load: () => import("./test/drafts/init.ts"),
});

export const testReviewParams = {
  results: local.text("Results of a run of tests, from --save", { required }),
  baseline: local.text("Compare with these earlier results instead of the suite", {
    placeholder: "file",
  }),
  test: local.text("Only this test", { many: true, placeholder: "name" }),
} as const;

const testReview = task({
  command: "wf test review <results>",
  action: "review answers",
  summary: "Show the answers of tests that have changed",
  about:
    "Compares the answers with those that the suite expects, or with earlier results. Of several runs of a\ntest it shows the most frequent changed answer. On a terminal it prompts for each one whether it\nbecomes the expected answer: a accepts it, s skips it, q ends the review. The suite keeps its comments\nand its layout.",
  params: testReviewParams,
  returns: report,
  effect: "writes",
  examples: [
    "wf test review results.json",
    "wf test review results.json --baseline before.json -o json",
  ],
  load: () => import("./test/review/review.ts"),
});

export const testAcceptParams = {
  results: testReviewParams.results,
  test: local.text("Accept the answer of this test", { many: true, placeholder: "name" }),
  all: local.flag("Accept all changed answers that meet the other conditions"),
  dry_run: local.flag("Show what would be accepted without writing it", { short: "n" }),
} as const;

const testAccept = task({
  command: "wf test accept <results>",
  action: "accept answers",
  summary: "Write changed answers into their suites as the expected ones",
  about:
    "Replaces the key answer of the tests, or adds the answer to a list; all else in the file stays as it\nis. A test without an expected answer gets one only if it is named.",
  params: testAcceptParams,
  returns: withNamePath("test", list("", "test:name result reason:sparse file line:count")),
  plans: true,
  effect: "writes",
  examples: [
    "wf test accept results.json --all --dry-run",
    "wf test accept results.json --test repeats",
  ],
  load: () => import("./test/review/accept.ts"),
});

/** The commands of `wf test`. */
export const testTasks: readonly Task[] = [
  testRun,
  testMerge,
  testSchema,
  testInit,
  testReview,
  testAccept,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
