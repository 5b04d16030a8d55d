import { usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject } from "../../../lib/json.ts";
import { readChecks, readEach } from "../../wf/expect/index.ts";
import type { Expectation, YamlNode as Node, YamlNodes } from "../../wf/expect/index.ts";
import { keysAt } from "./keys.ts";
import type { SuiteKey, suiteKeys, SuiteKeyType, SuiteLevel } from "./keys.ts";

/** What each type of a key is read as; other types are mappings. */
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
  readonly schema: string | Readonly<Record<string, unknown>>;
  readonly supported: SuiteValues | false;
  readonly weights: Readonly<Record<string, number>>;
  readonly turns: readonly SuiteValues[];
  readonly tests: readonly SuiteValues[];
}

type AnyKey = (typeof suiteKeys)[number];
type ValueOf<Key extends AnyKey> = Key extends {
  readonly type: "choice";
  readonly values: readonly (infer Value)[];
}
  ? Value
  : Key["type"] extends keyof ValueTypes
    ? ValueTypes[Key["type"]]
    : SuiteValues;

/** The values of a mapping of a suite, by key. */
export type SuiteValues = {
  /** Where the mapping stands. */
  readonly from: { readonly path: string; readonly line: number };
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
  ) => Type extends keyof ValueTypes ? ValueTypes[Type] : SuiteValues;
};

/** Reads a mapping, or what stands for one of its keys. */
const mappingOr =
  (level: SuiteLevel, short: (nodes: YamlNodes, node: Node) => object) =>
  (nodes: YamlNodes, node: Node): SuiteValues =>
    nodes.isMapping(node)
      ? readValues(level, nodes, node)
      : { ...short(nodes, node), from: nodes.from(node) };

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
  judge: mappingOr("judge", (nodes, node) => ({ app: nodes.text(node) })),
  search: (nodes, node) => readValues("search", nodes, node),
  supported: (nodes, node) =>
    nodes.isMapping(node)
      ? readValues("supported", nodes, node)
      : nodes.boolean(node) && { from: nodes.from(node) },
  context: mappingOr("context", (nodes, node) => ({ at_least: shareIn(nodes, node) })),
  schema: (nodes, node, key) =>
    nodes.isMapping(node) ? readers.inputs(nodes, node, key) : nodes.text(node),
  check: (nodes, node) => readValues("check", nodes, node),
  budget: (nodes, node) => readValues("budget", nodes, node),
  pass: mappingOr("pass", (nodes, node) => ({
    rate: nodes.text(node) === "all" ? 1 : shareIn(nodes, node),
  })),
  quarantine: mappingOr("quarantine", (nodes, node) => ({ until: dateIn(nodes, node) })),
  weights(nodes, node, key) {
    const weight = (value: Node) => numberIn(nodes, value, key);
    const kinds = key.values ?? [];
    const table = kinds.map((kind) => [kind, (value: Node) => [[kind, weight(value)] as const]]);
    return Object.fromEntries(nodes.keys(node, Object.fromEntries(table)));
  },
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

function numberIn(
  nodes: YamlNodes,
  node: Node,
  { type, range: [least, most] = [-Infinity, Infinity] }: Pick<SuiteKey, "type" | "range">,
): number {
  const value = nodes.number(node);
  const isWhole = type !== "integer" || Number.isInteger(value);
  if (isWhole && value >= least && value <= most) return value;
  const what = type === "integer" ? "a whole number" : "a number";
  throw nodes.error(node, `expected ${what} from ${least} to ${most}`);
}

const shareIn = (nodes: YamlNodes, node: Node): number =>
  numberIn(nodes, node, { type: "number", range: [0, 1] });

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

/** The hint of most mistakes. */
export const keysHint = () => `run ${commandLine("wf test schema")} for the keys of a suite`;

/** A mistake in a suite. */
export const mistake = ({ path, line }: SuiteValues["from"], problem: string) =>
  usage(`${path} line ${line}: ${problem}`, keysHint());
