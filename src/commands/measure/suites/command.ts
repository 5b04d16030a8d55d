import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { listMessages, sendMessage, createCompletion } from "../../../operations/chats.ts";
import { listDocuments } from "../../../operations/documents.ts";
import { uploadFile } from "../../../operations/files.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../../operations/knowledge.ts";
import { local, report } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { getWorkflowRun, runWorkflow, streamRunEvents } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";

/** Parameters of the commands that judge the results of tests. */
export const resultParams = {
  baseline: local.text("Compare with the results of an earlier run, from --save", {
    placeholder: "file",
  }),
  level: local.number("Chance of a false alarm (default 0.05)", {
    range: [0.0001, 0.5],
  }),
  strict: local.flag("Fail, too, if it is inconclusive whether a test is worse"),
  allow_removed: local.flag("Accept that tests of the baseline are gone"),
  save: local.text("Save the results to this file, for --baseline", {
    isOutputPath: true,
  }),
  history: local.text("Directory to which these results are added", { placeholder: "dir" }),
  junit: local.text("JUnit report to write, one case per test", {
    isOutputPath: true,
    meant: ["--reporter"],
  }),
} as const;

export const testRunParams = {
  suites: local.text("Files of tests (YAML, CSV, JSON Lines)", {
    many: true,
    required,
    placeholder: "suite",
  }),
  only: local.text("Only tests with this tag or part of a name", {
    many: true,
    placeholder: "tag|name",
    meant: ["--tag", "--filter"],
  }),
  failed_from: local.text("Only tests that did not pass in these results of --save", {
    placeholder: "file",
  }),
  first: local.integer("Only the first of the selected tests", {
    range: [1, 1_000_000],
  }),
  repeat: local.integer("How often each test runs (default 1)", { range: [1, 1000] }),
  confirm: local.integer("How often a test that passes less often is asked again (default 6)", {
    range: [0, 1000],
  }),
  against: local.text("Compare with this application, version or profile:NAME, asked in turn", {
    placeholder: "what",
  }),
  allow_run: local.flag("Run the programs that checks of the suites name"),
  fail_fast: local.flag("Stop asking after the first failure", { meant: ["--bail", "-x"] }),
  shard: local.text("Run one share of the tests: 3/8, auto or auto/8", { placeholder: "share" }),
  reuse: local.text("Take answers from these results of --save", {
    placeholder: "file",
  }),
  ...resultParams,
  keep: local.choice(["failed", "all"], "Keep recordings of these runs"),
  keep_to: local.text("Directory of recordings (default wf-test-recordings)", {
    placeholder: "dir",
  }),
  redact: local.flag("Record the lengths of texts instead of the texts"),
} as const;

export const testRun = task({
  command: "wf test run <suite...>",
  action: "run tests",
  meant: ["evaluate", "eval"],
  summary: "Run suites of tests against applications",
  about:
    "A suite has tests: questions to an application and what is expected of the answers. Its keys:\n`wf test schema`, `wf help conditions`. --app is the application for suites that name none.\n\nExits with 14 if a test failed, otherwise with 10 if one could not be judged. With --baseline,\ntests that pass less often are asked again first; it exits with 14 if a test broke, misses every\ntime, or is gone, if a new one fails, or if the suite is worse: `wf help verdicts`.\n\nThe same command continues after a kill, an interrupt or --timeout (12), and never asks again what\nhas a recorded answer. -o jsonl prints each result as soon as it is known.",
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
    "wf --app echo test run suite.yaml --repeat 3 --save before.json",
    "wf --app echo test run suite.yaml --repeat 3 --baseline before.json -o md",
    "wf --app echo test run suite.yaml --shard 1/2 --save shard-1.json",
  ],
});

export const testMergeParams = {
  results: local.text("Files of --save, one of each shard", {
    many: true,
    required,
    placeholder: "file",
  }),
  ...resultParams,
} as const;

export const testMerge = task({
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
});

export const testPlanParams = {
  suites: testRunParams.suites,
  baseline: local.text("Simulate a comparison with these results of --save", {
    placeholder: "file",
  }),
  history: local.text("With --baseline: directory of earlier results, as of `wf test run`", {
    placeholder: "dir",
  }),
  rate: local.number("Assumed pass rate of tests without results (default 0.9)", { range: [0, 1] }),
  repeat: local.integer(
    "How often each test runs (default: 1 with --baseline, otherwise 1, 2, 3, 5 and 10)",
    { range: [1, 1000] },
  ),
  confirm: local.integer("How often a test that fails is asked again (default 6)", {
    range: [0, 1000],
  }),
  level: resultParams.level,
  power: local.number("Name the lowest repeats that find a change this often (default 0.8)", {
    range: [0.1, 0.999],
  }),
} as const;

export const testPlan = task({
  command: "wf test plan <suite...>",
  action: "plan repeats",
  meant: ["validate", "lint"],
  summary: "Show how often a comparison finds a change",
  about:
    "Simulates `wf test run --baseline` for two seconds, or 200 times if that takes longer, and shows how\noften it exits with 14: if one test that passed never does any more, or in half of its runs, if all\ntests fall by 10 points, and if nothing has changed. Sends nothing.\n\nWith --baseline, the pass rates are those that its results make likely. Days that are better or worse\nthan others are not simulated.",
  params: testPlanParams,
  returns: report,
  sends: [],
  effect: "reads",
  examples: [
    "wf test plan suite.yaml",
    "wf test plan suite.yaml --repeat 5 -o json",
    "wf test plan suite.yaml --baseline before.json --repeat 3",
  ],
});

export const testScoreParams = {
  results: local.text("Results of a run of tests, from --save", { required }),
  suite: local.text("Apply this suite (default: those of the results)", {
    many: true,
    placeholder: "file",
  }),
  allow_run: testRunParams.allow_run,
  save: resultParams.save,
  junit: resultParams.junit,
} as const;

export const testScore = task({
  command: "wf test score <results>",
  action: "judge answers again",
  summary: "Judge the answers of an earlier run again",
  about:
    "Applies the conditions, expected answers and judges of the suites, as they are now, to the answers in\nthe results. Sends only the requests to judges. Same report and exit code as `wf test run`.\nConditions about nodes, and searches, keep their results; a new one makes its test an error (10).",
  parallel: true,
  params: testScoreParams,
  namesFiles: true,
  returns: report,
  sends: [getAppInfo, getAppParameters, sendMessage, createCompletion],
  wraps: runWorkflow,
  effect: "writes",
  runsToEnd: true,
  exits: ["partial", "gate"],
  examples: [
    "wf test score results.json",
    "wf test score results.json --suite suite.yaml --save judged.json",
  ],
});

export const testSchema = task({
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
});

export const testFlakyParams = {
  history: local.text("Directory of results that --history has written", { required }),
} as const;

export const testFlaky = task({
  command: "wf test flaky <history>",
  action: "find flaky tests",
  summary: "Find flaky tests in the results of earlier runs",
  about:
    "Judges each test by the last 200 results. flaky: it passed and failed in one command, or changed between\nthe two three times or more while its suite stayed the same. unclear: it changed twice. broken, fixed:\nit changed once, at the time that is shown.",
  params: testFlakyParams,
  returns: report,
  sends: [],
  effect: "reads",
  examples: ["wf test flaky results/", "wf test flaky results/ -o md"],
});
