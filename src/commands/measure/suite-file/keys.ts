/** Ways to compare an answer with the expected one. */
export const compareModes = ["exact", "contains", "regex", "json", "similar"] as const;

/** The lowest similarity that passes, unless a test has its own. */
export const usualSimilarity = 0.8;

/** Kinds of checks, which `weights` names. */
export const checkKinds = [
  "expect",
  "answer",
  "judge",
  "supported",
  "context",
  "schema",
  "check",
  "search",
  "limits",
] as const;

/** What a check looks at: the key of the suite, or `limits`. */
export type CheckKind = (typeof checkKinds)[number];

/** How an answer is compared with the expected one. */
export type CompareMode = (typeof compareModes)[number];

/** The mappings of a suite; each key says which of them may have it. */
export type SuiteLevel = "suite" | "defaults" | "test" | "turn" | NestedLevel;

/** The mappings that are the value of a key; each is a type of keys with the same name. */
export const nestedLevels = [
  "judge",
  "search",
  "supported",
  "context",
  "check",
  "budget",
  "pass",
  "quarantine",
] as const;
type NestedLevel = (typeof nestedLevels)[number];

/** What a key contains; `texts` is one text or a list, `inputs` a mapping of any values. */
export type SuiteKeyType =
  | "text"
  | "date"
  | "texts"
  | "flag"
  | "number"
  | "integer"
  | "choice"
  | "inputs"
  | "expect"
  | NestedLevel
  | "schema"
  | "weights"
  | "defaults"
  | "turns"
  | "tests";

/** A key of a suite. */
export interface SuiteKey {
  readonly name: string;
  readonly where: readonly SuiteLevel[];
  readonly type: SuiteKeyType;
  /** In Markdown, as in docs/reference.md. */
  readonly description: string;
  /** Of a number, both ends included. */
  readonly range?: readonly [least: number, most: number];
  /** Of a choice. */
  readonly values?: readonly string[];
}

/** What a key contains: a type, or one with limits. */
type Kind = SuiteKeyType | Pick<SuiteKey, "type" | "range" | "values">;
type Written<K extends Kind> = K extends SuiteKeyType ? { readonly type: K } : K;

/** A key with its name and type as they are written, from which the types of values follow. */
const key = <const Name extends string, const K extends Kind>(
  name: Name,
  where: readonly SuiteLevel[],
  kind: K,
  description: string,
) => ({
  name,
  where,
  ...((typeof kind === "string" ? { type: kind } : kind) as Written<K>),
  description,
});

const share = { type: "number", range: [0, 1] } as const;
const amount = { type: "number", range: [0, 1e12] } as const;

/** A test has its own values and those of the defaults, a turn also those of its test. */
const ofTests = ["defaults", "test"] as const;
const ofTurns = [...ofTests, "turn"] as const;

/**
 * The keys of a suite, in the order of the documentation. The reader, the JSON Schema, the columns of
 * rows and the table in docs/reference.md follow from them.
 */
export const suiteKeys = [
  key(
    "name",
    ["suite", "test"],
    "text",
    "name in reports (default of a suite: the name of its file)",
  ),
  key("description", ["suite", "test"], "text", "not used"),
  key("metadata", ["suite", "test"], "inputs", "not used"),
  key("app", ["suite"], "text", "application of the profile (default: that of `--app`)"),
  key("user", ["suite"], "text", "end user"),
  key("defaults", ["suite"], "defaults", "values of every test; a test adds its own"),
  key("tests", ["suite"], "tests", "list of tests"),
  key("query", ["test", "turn"], "text", "what is said to a chat application"),
  key("inputs", ofTurns, "inputs", "values of the input form; `@report.pdf` uploads a file"),
  key("turns", ["test"], "turns", "several messages of one conversation, instead of `query`"),
  key(
    "expect",
    ofTurns,
    "expect",
    "condition, or list of conditions (also under `checks`), as `--expect` takes them",
  ),
  key("answer", ["test", "turn"], "texts", "the expected answer; of a list, any one"),
  key(
    "compare",
    ofTurns,
    { type: "choice", values: compareModes },
    "how the answer is compared with `answer`: `exact`, `contains`, `regex`, `json` or `similar` (default, unless there is a judge)",
  ),
  key(
    "similarity",
    ofTurns,
    share,
    "lowest similarity with `compare: similar`, from 0 to 1 (default 0.8)",
  ),
  key(
    "facts",
    ofTurns,
    "flag",
    "whether numbers, dates, names and negations must agree with `compare: similar` (default true)",
  ),
  key(
    "judge",
    [...ofTurns, "supported"],
    "judge",
    "another application decides: its name, or a mapping; in `supported` only about sentences whose words are not in a chunk",
  ),
  key("app", ["judge"], "text", "application of the profile that judges"),
  key("criteria", ["judge"], "text", "what a good answer is, in plain words"),
  key(
    "at_least",
    ["judge", "supported", "context"],
    share,
    "lowest score that passes, from 0 to 1 (default 0.5 for a judge, otherwise 1)",
  ),
  key(
    "repeat",
    ["judge"],
    { type: "integer", range: [1, 25] },
    "how often it is asked; the majority decides, and a tie fails (default 1)",
  ),
  key(
    "supported",
    ofTurns,
    "supported",
    "each sentence of the answer is in the chunks that it was made of: `true`, or a mapping",
  ),
  key(
    "share",
    ["supported"],
    share,
    "how many of the words of a sentence one chunk must have (default 0.7)",
  ),
  key(
    "context_recall",
    ofTurns,
    "context",
    "lowest share of the expected documents among the chunks: a number, or a mapping",
  ),
  key(
    "context_precision",
    ofTurns,
    "context",
    "lowest share of the chunks that are of expected documents: a number, or a mapping",
  ),
  key(
    "schema",
    ofTurns,
    "schema",
    "JSON Schema of the answer: a mapping, or its file beside the suite; with `of: NAME`, of this output",
  ),
  key("check", ofTurns, "check", "a program that decides about the answer, with `--allow-run`"),
  key("run", ["check"], "texts", "the program; of a list, the program and its arguments"),
  key(
    "timeout",
    ["check"],
    { type: "number", range: [0.1, 3600] },
    "seconds after which the program is ended (default 30)",
  ),
  key("max_tokens", ofTests, amount, "highest number of tokens of all turns"),
  key("max_seconds", ofTests, amount, "longest time of all turns"),
  key(
    "budget",
    ["suite"],
    "budget",
    "what all tests of the suite may use in one command, judges included",
  ),
  key("tokens", ["budget"], amount, "highest number of tokens"),
  key("seconds", ["budget"], amount, "longest sum of times"),
  key(
    "score_at_least",
    ofTests,
    share,
    "lowest mean score of the checks; single ones may then fail",
  ),
  key(
    "weights",
    ofTests,
    { type: "weights", values: checkKinds, range: [0, 1000] },
    "how much kinds of checks count in the mean score, as in `{ judge: 3 }` (default 1)",
  ),
  key("search", ofTests, "search", "documents that a search must find, and the answer use"),
  key("kb", ["search"], "text", "knowledge base to search"),
  key("query", ["search"], "text", "what is searched for (default: the first `query` of the test)"),
  key(
    "top",
    ["search"],
    { type: "integer", range: [1, 100] },
    "how many chunks a search finds (default: the setting of the knowledge base)",
  ),
  key(
    "documents",
    ["search", "context"],
    "texts",
    "expected documents: names, paths or IDs (default of a context: those of `search`)",
  ),
  key("text", ["search"], "texts", "texts that the chunks found must contain"),
  key("tags", ofTests, "texts", "names for `--only`"),
  // the statistics need no more, and each costs a run
  key(
    "repeat",
    ofTests,
    { type: "integer", range: [1, 1000] },
    "how often it runs (default: `--repeat`, otherwise once)",
  ),
  key(
    "pass",
    ofTests,
    "pass",
    "when the test has passed: `all` runs did (default), a share of them, or a mapping",
  ),
  key("rate", ["pass"], share, "lowest share of runs that pass"),
  key("lower_bound", ["pass"], share, "lowest end of the 95 % interval of that share"),
  key("skip", ["test"], "flag", "leaves the test out"),
  key("only", ["test"], "flag", "runs only such tests"),
  key(
    "quarantine",
    ["test"],
    "quarantine",
    "a day such as `2026-12-31`, until which the test may fail, or a mapping",
  ),
  key("until", ["quarantine"], "date", "the last day, in UTC"),
  key("reason", ["quarantine"], "text", "why, for reports"),
] as const;

/** Keys that a turn does not take over from its test. */
export const turnKeys = ["query", "expect", "answer"] as const;

/** The mapping that a key contains, whose keys are columns of rows, too. */
export const nestedLevel = (type: SuiteKeyType): SuiteLevel | undefined =>
  nestedLevels.find((level) => level === type);

/** The keys that a mapping may have. */
export const keysAt = (level: SuiteLevel): readonly SuiteKey[] =>
  suiteKeys.filter(({ where }: SuiteKey) => where.includes(level));
