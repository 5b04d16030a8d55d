import { isObject } from "../../../../lib/json.ts";
import { readChecks, readEach } from "../../expect/index.ts";
import type { Expectation, YamlNode as Node, YamlNodes } from "../../expect/index.ts";

/** Ways to compare an answer with the expected one. */
export const compareModes = ["exact", "contains", "regex", "json", "similar"] as const;

/** The lowest similarity that passes, unless a test has its own. */
export const usualSimilarity = 0.8;

/** How an answer is compared with the expected one. */
export type CompareMode = (typeof compareModes)[number];

/** The mappings of a suite; each key says which of them may have it. */
export type SuiteLevel =
  | "suite"
  | "defaults"
  | "test"
  | "turn"
  | "judge"
  | "search"
  | "pass"
  | "quarantine";

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
  | "judge"
  | "search"
  | "pass"
  | "quarantine"
  | "defaults"
  | "turns"
  | "tests";

/** A key of a suite. */
export interface SuiteKey {
  readonly name: string;
  readonly where: readonly SuiteLevel[];
  readonly type: SuiteKeyType;
  /** In Markdown, as in docs/test-suites.md. */
  readonly description: string;
  /** Of a number, both ends included. */
  readonly range?: readonly [least: number, most: number];
  /** Of a choice. */
  readonly values?: readonly string[];
}

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
    name: "judge",
    where: ["defaults", "test", "turn"],
    type: "judge",
    description: "another application decides: its name, or a mapping",
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
    where: ["judge"],
    type: "number",
    range: [0, 1],
    description: "lowest score that passes, from 0 to 1 (default 0.5)",
  },
  {
    name: "repeat",
    where: ["judge"],
    type: "integer",
    range: [1, 25],
    description: "how often it is asked; the majority decides, and a tie fails (default 1)",
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
    where: ["search"],
    type: "texts",
    description: "expected documents: names, paths or IDs",
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
  ["judge", "search", "pass", "quarantine"].includes(type) ? (type as SuiteLevel) : undefined;

/** The keys that a mapping may have. */
export const keysAt = (level: SuiteLevel): readonly SuiteKey[] =>
  suiteKeys.filter(({ where }: SuiteKey) => where.includes(level));

/** What each type of a key is read as. */
interface ValueTypes {
  readonly text: string;
  readonly date: string;
  readonly texts: readonly string[];
  readonly flag: boolean;
  readonly number: number;
  readonly integer: number;
  readonly choice: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly expect: readonly Expectation[];
  readonly judge: SuiteValues;
  readonly search: SuiteValues;
  readonly pass: SuiteValues;
  readonly quarantine: SuiteValues;
  readonly defaults: SuiteValues;
  readonly turns: readonly SuiteValues[];
  readonly tests: readonly SuiteValues[];
}

type AnyKey = (typeof suiteKeys)[number];
type ValueOf<Key extends AnyKey> = Key extends { readonly values: readonly (infer Value)[] }
  ? Value
  : ValueTypes[Key["type"]];

/** Where a mapping stands. */
export interface SuitePlace {
  readonly path: string;
  readonly line: number;
}

/** The values of a mapping of a suite, by key. */
export type SuiteValues = {
  readonly from: SuitePlace;
  /** Inputs as text, which the form of the application types. */
  readonly assigned?: Readonly<Record<string, string>>;
} & {
  readonly [Key in AnyKey as Key["name"]]?: ValueOf<Key>;
};

type Readers = {
  readonly [Type in SuiteKeyType]: (
    nodes: YamlNodes,
    node: Node,
    key: SuiteKey,
  ) => ValueTypes[Type];
};

const readers: Readers = {
  text: (nodes, node) => nodes.text(node),
  date: dateIn,
  texts: (nodes, node) =>
    nodes.isList(node) ? nodes.items(node).map(nodes.text) : [nodes.text(node)],
  flag: (nodes, node) => nodes.boolean(node),
  number: numberIn,
  integer: numberIn,
  choice: (nodes, node, { values = [] }) => nodes.choice(node, values),
  inputs(nodes, node) {
    const value = nodes.json(node);
    if (!isObject(value)) throw nodes.error(node, "expected a mapping");
    return value;
  },
  expect(nodes, node) {
    if (nodes.isMapping(node)) return readChecks(nodes, node);
    return (nodes.isList(node) ? nodes.items(node) : [node]).map(nodes.sentence);
  },
  judge: (nodes, node) =>
    nodes.isMapping(node)
      ? readValues("judge", nodes, node)
      : { app: nodes.text(node), from: nodes.from(node) },
  search: (nodes, node) => readValues("search", nodes, node),
  pass(nodes, node, key) {
    if (nodes.isMapping(node)) return readValues("pass", nodes, node);
    const isAll = nodes.text(node) === "all";
    const range = [0, 1] as const;
    return { from: nodes.from(node), rate: isAll ? 1 : numberIn(nodes, node, { ...key, range }) };
  },
  quarantine: (nodes, node) =>
    nodes.isMapping(node)
      ? readValues("quarantine", nodes, node)
      : { until: dateIn(nodes, node), from: nodes.from(node) },
  defaults: (nodes, node) => readValues("defaults", nodes, node),
  turns: (nodes, node) => readEach(nodes.items(node), (turn) => [readValues("turn", nodes, turn)]),
  tests: (nodes, node) => readEach(nodes.items(node), (test) => [readValues("test", nodes, test)]),
};

/** A day of the calendar: `2026-12-31`. */
function dateIn(nodes: YamlNodes, node: Node): string {
  const text = nodes.text(node);
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  // A day that a month does not have becomes one of the next.
  if (date && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)) return text;
  throw nodes.error(node, "expected a day such as 2026-12-31");
}

function numberIn(nodes: YamlNodes, node: Node, { type, range }: SuiteKey): number {
  const [least, most] = range ?? [-Infinity, Infinity];
  const value = nodes.number(node);
  const isWhole = type !== "integer" || Number.isInteger(value);
  if (isWhole && value >= least && value <= most) return value;
  const what = type === "integer" ? "a whole number" : "a number";
  throw nodes.error(node, `expected ${what} from ${least} to ${most}`);
}

/** Reads a mapping of a suite. Throws `usage` with the line of an unknown key or a wrong value. */
export function readValues(level: SuiteLevel, nodes: YamlNodes, node: Node): SuiteValues {
  const table = keysAt(level).map((key) => [
    key.name,
    (value: Node) => [{ [key.name]: readers[key.type](nodes, value, key) }],
  ]);
  const values = nodes.keys<object>(node, Object.fromEntries(table), ({ name }) =>
    level === "suite" && name.startsWith("x-") ? [] : undefined,
  );
  return Object.assign({ from: nodes.from(node) }, ...values) as SuiteValues;
}
