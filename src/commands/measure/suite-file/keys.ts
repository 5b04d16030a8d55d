import { checkKinds, compareModes, nestedLevels } from "./key-types.ts";
import type { SuiteKey, SuiteKeyType, SuiteLevel } from "./key-types.ts";

/**
 * The keys of a suite, in the order of the documentation. The reader, the JSON Schema, the columns of
 * rows and the table in docs/test-suites.md follow from them.
 */
export const suiteKeys = [
  {
    name: "name",
    where: ["suite", "test"],
    type: "text",
    description: "name in reports (default of a suite: the name of its file)",
  },
  { name: "description", where: ["suite", "test"], type: "text", description: "not used" },
  { name: "metadata", where: ["suite", "test"], type: "inputs", description: "not used" },
  {
    name: "app",
    where: ["suite"],
    type: "text",
    description: "application of the profile (default: that of `--app`)",
  },
  { name: "user", where: ["suite"], type: "text", description: "end user" },
  {
    name: "defaults",
    where: ["suite"],
    type: "defaults",
    description: "values of every test; a test adds its own",
  },
  { name: "tests", where: ["suite"], type: "tests", description: "list of tests" },
  {
    name: "query",
    where: ["test", "turn"],
    type: "text",
    description: "what is said to a chat application",
  },
  {
    name: "inputs",
    where: ["defaults", "test", "turn"],
    type: "inputs",
    description: "values of the input form; `@report.pdf` uploads a file",
  },
  {
    name: "turns",
    where: ["test"],
    type: "turns",
    description: "several messages of one conversation, instead of `query`",
  },
  {
    name: "expect",
    where: ["defaults", "test", "turn"],
    type: "expect",
    description: "condition, or list of conditions (also under `checks`), as `--expect` takes them",
  },
  {
    name: "answer",
    where: ["test", "turn"],
    type: "texts",
    description: "the expected answer; of a list, any one",
  },
  {
    name: "compare",
    where: ["defaults", "test", "turn"],
    type: "choice",
    values: compareModes,
    description:
      "how the answer is compared with `answer`: `exact`, `contains`, `regex`, `json` or `similar` (default, unless there is a judge)",
  },
  {
    name: "similarity",
    where: ["defaults", "test", "turn"],
    type: "number",
    range: [0, 1],
    description: "lowest similarity with `compare: similar`, from 0 to 1 (default 0.8)",
  },
  {
    name: "facts",
    where: ["defaults", "test", "turn"],
    type: "flag",
    description:
      "whether numbers, dates, names and negations must agree with `compare: similar` (default true)",
  },
  {
    name: "judge",
    where: ["defaults", "test", "turn", "supported"],
    type: "judge",
    description:
      "another application decides: its name, or a mapping; in `supported` only about sentences whose words are not in a chunk",
  },
  {
    name: "app",
    where: ["judge"],
    type: "text",
    description: "application of the profile that judges",
  },
  {
    name: "criteria",
    where: ["judge"],
    type: "text",
    description: "what a good answer is, in plain words",
  },
  {
    name: "at_least",
    where: ["judge", "supported", "context"],
    type: "number",
    range: [0, 1],
    description: "lowest score that passes, from 0 to 1 (default 0.5 for a judge, otherwise 1)",
  },
  {
    name: "repeat",
    where: ["judge"],
    type: "integer",
    range: [1, 25],
    description: "how often it is asked; the majority decides, and a tie fails (default 1)",
  },
  {
    name: "supported",
    where: ["defaults", "test", "turn"],
    type: "supported",
    description:
      "each sentence of the answer is in the chunks that it was made of: `true`, or a mapping",
  },
  {
    name: "share",
    where: ["supported"],
    type: "number",
    range: [0, 1],
    description: "how many of the words of a sentence one chunk must have (default 0.7)",
  },
  {
    name: "context_recall",
    where: ["defaults", "test", "turn"],
    type: "context",
    description: "lowest share of the expected documents among the chunks: a number, or a mapping",
  },
  {
    name: "context_precision",
    where: ["defaults", "test", "turn"],
    type: "context",
    description:
      "lowest share of the chunks that are of expected documents: a number, or a mapping",
  },
  {
    name: "schema",
    where: ["defaults", "test", "turn"],
    type: "schema",
    description:
      "JSON Schema of the answer: a mapping, or its file beside the suite; with `of: NAME`, of this output",
  },
  {
    name: "check",
    where: ["defaults", "test", "turn"],
    type: "check",
    description: "a program that decides about the answer, with `--allow-run`",
  },
  {
    name: "run",
    where: ["check"],
    type: "texts",
    description: "the program; of a list, the program and its arguments",
  },
  {
    name: "timeout",
    where: ["check"],
    type: "number",
    range: [0.1, 3600],
    description: "seconds after which the program is ended (default 30)",
  },
  {
    name: "max_tokens",
    where: ["defaults", "test"],
    type: "number",
    range: [0, 1e12],
    description: "highest number of tokens of all turns",
  },
  {
    name: "max_seconds",
    where: ["defaults", "test"],
    type: "number",
    range: [0, 1e12],
    description: "longest time of all turns",
  },
  {
    name: "budget",
    where: ["suite"],
    type: "budget",
    description: "what all tests of the suite may use in one command, judges included",
  },
  {
    name: "tokens",
    where: ["budget"],
    type: "number",
    range: [0, 1e12],
    description: "highest number of tokens",
  },
  {
    name: "seconds",
    where: ["budget"],
    type: "number",
    range: [0, 1e12],
    description: "longest sum of times",
  },
  {
    name: "score_at_least",
    where: ["defaults", "test"],
    type: "number",
    range: [0, 1],
    description: "lowest mean score of the checks; single ones may then fail",
  },
  {
    name: "weights",
    where: ["defaults", "test"],
    type: "weights",
    values: checkKinds,
    range: [0, 1000],
    description:
      "how much kinds of checks count in the mean score, as in `{ judge: 3 }` (default 1)",
  },
  {
    name: "search",
    where: ["defaults", "test"],
    type: "search",
    description: "documents that a search must find, and the answer use",
  },
  {
    name: "kb",
    where: ["search"],
    type: "text",
    description: "knowledge base to search",
  },
  {
    name: "query",
    where: ["search"],
    type: "text",
    description: "what is searched for (default: the first `query` of the test)",
  },
  {
    name: "top",
    where: ["search"],
    type: "integer",
    range: [1, 100],
    description: "how many chunks a search finds (default: the setting of the knowledge base)",
  },
  {
    name: "documents",
    where: ["search", "context"],
    type: "texts",
    description:
      "expected documents: names, paths or IDs (default of a context: those of `search`)",
  },
  {
    name: "text",
    where: ["search"],
    type: "texts",
    description: "texts that the chunks found must contain",
  },
  {
    name: "tags",
    where: ["defaults", "test"],
    type: "texts",
    description: "names for `--only`",
  },
  {
    name: "repeat",
    where: ["defaults", "test"],
    type: "integer",
    range: [1, 1000], // the statistics need no more, and each costs a run
    description: "how often it runs (default: `--repeat`, otherwise once)",
  },
  {
    name: "pass",
    where: ["defaults", "test"],
    type: "pass",
    description:
      "when the test has passed: `all` runs did (default), a share of them, or a mapping",
  },
  {
    name: "rate",
    where: ["pass"],
    type: "number",
    range: [0, 1],
    description: "lowest share of runs that pass",
  },
  {
    name: "lower_bound",
    where: ["pass"],
    type: "number",
    range: [0, 1],
    description: "lowest end of the 95 % interval of that share",
  },
  { name: "skip", where: ["test"], type: "flag", description: "leaves the test out" },
  { name: "only", where: ["test"], type: "flag", description: "runs only such tests" },
  {
    name: "quarantine",
    where: ["test"],
    type: "quarantine",
    description: "a day such as `2026-12-31`, until which the test may fail, or a mapping",
  },
  { name: "until", where: ["quarantine"], type: "date", description: "the last day, in UTC" },
  { name: "reason", where: ["quarantine"], type: "text", description: "why, for reports" },
] as const satisfies readonly SuiteKey[];

/** Keys that a turn does not take over from its test. */
export const turnKeys = ["query", "expect", "answer"] as const;

/** The mapping that a key contains, whose keys are columns of rows, too. */
export const nestedLevel = (type: SuiteKeyType): SuiteLevel | undefined =>
  nestedLevels.find((level) => level === type);

/** The keys that a mapping may have. */
export const keysAt = (level: SuiteLevel): readonly SuiteKey[] =>
  suiteKeys.filter(({ where }: SuiteKey) => where.includes(level));
