import { isObject, own, stringifyJson } from "../../../../lib/json.ts";
import type { Input } from "../../../../operations/operation.ts";
import type { testInitParams } from "./command.ts";
import type { DraftOrReason, DraftTurn } from "./draft.ts";

/** What the flags say: the variable that is the question, the input that gets it, and who judges. */
export type PromptfooChoices = Pick<Input<typeof testInitParams>, "query" | "input" | "judge">;

type Values = Readonly<Record<string, unknown>>;

/** A test as a file has it. */
export interface TestCase {
  /** `tests.yaml line 4` */
  readonly place: string;
  readonly json: Values;
  /** Places of its assertions, if they have their own. */
  readonly asserts: readonly string[];
}

/** What all tests of a configuration have in common. */
interface Config {
  /** The test whose values the others take over. */
  readonly base: TestCase | undefined;
  readonly templates: readonly string[];
  readonly choices: PromptfooChoices;
  /** Gets what no suite has, with its place. */
  readonly others: string[];
}

const fieldsOf = (value: unknown): Values => (isObject(value) ? value : {});

const testKeys: ReadonlySet<string> = new Set(["description", "metadata", "vars", "assert"]);

/** A test with what its assertions expect, or why it cannot become one. */
export function draftOf(test: TestCase, config: Config): DraftOrReason {
  const { base, others } = config;
  const { description, metadata, vars } = test.json;
  const tests = [...(base ? [base] : []), test];
  for (const { json, place } of tests)
    for (const key of Object.keys(json)) if (!testKeys.has(key)) others.push(`${place}: ${key}`);
  const values = { ...fieldsOf(base?.json["vars"]), ...fieldsOf(vars) };
  const turn = turnOf(values, config);
  if (typeof turn === "string") {
    others.push(`${test.place}: a test ${turn}`);
    return turn;
  }
  const keys = {
    ...(isObject(metadata) && { metadata }),
    ...expectedOf(tests, values, config),
  };
  const name = typeof description === "string" ? description : undefined;
  return { name, turns: [turn], answers: [], outputs: {}, keys };
}

/** What is asked, or why nothing can be. Variables that only assertions name are no inputs. */
function turnOf(values: Values, { templates, choices }: Config): DraftTurn | string {
  const { query: chosen, input } = choices;
  const inPrompts = new Set(templates.flatMap(variablesIn));
  const named = Object.keys(values).filter((name) => inPrompts.has(name));
  const names = named.length > 0 ? named : Object.keys(values);
  const given = names.map((name) => values[name]);
  if (given.some((value) => typeof value === "string" && value.startsWith("file://")))
    return "with a variable made by code";
  if (given.some(Array.isArray)) return "with a list of values";
  const isPrompt = chosen === "prompt" && !names.includes(chosen);
  const name = chosen ?? (names.length === 1 ? names[0] : undefined);
  const inputs = Object.fromEntries(
    names.flatMap((each) => (isPrompt || each === name ? [] : [[each, values[each]]])),
  );
  if (name === undefined) return names.length > 0 ? { inputs } : "without variables";
  const question = isPrompt ? filled(templates[0] ?? "", values) : own(values, name);
  if ((question ?? "") === "") return "without a question";
  if (input !== undefined) return { inputs: { ...inputs, [input]: question } };
  const query = textOf(question);
  return { query, ...(Object.keys(inputs).length > 0 && { inputs }) };
}

/** Keys of an assertion that are taken, or are mere names. */
const known: ReadonlySet<string> = new Set(["type", "value", "threshold", "metric"]);

/** The keys for the assertions of tests; lists those without an equivalent. */
function expectedOf(tests: readonly TestCase[], values: Values, config: Config): ExpectedKeys {
  let all: ExpectedKeys = {};
  for (const { json, place, asserts } of tests) {
    const { assert: list = [] } = json;
    if (!Array.isArray(list)) config.others.push(`${place}: assert`);
    for (const [index, each] of (Array.isArray(list) ? list : []).entries()) {
      const fields = fieldsOf(each);
      const keys = expectedBy(fields, values, config.choices.judge);
      const at = `${asserts[index] ?? place}: ${String(fields["type"] ?? "no type")}`;
      const more = Object.keys(fields).filter((key) => !known.has(key));
      config.others.push(...more.map((key) => `${at} with ${key}`));
      const taken = (["answer", "supported"] as const).filter((key) => all[key]);
      const isSecond = typeof keys !== "string" && taken.some((key) => keys[key]);
      const problem = isSecond ? "a second one" : keys;
      if (typeof problem === "string") config.others.push(`${at} (${problem})`);
      else all = joined(all, problem);
    }
  }
  return all;
}

function expectedBy(
  { type, value: given, threshold, transform, $ref }: Values,
  values: Values,
  judge: string | undefined,
): ExpectedKeys | string {
  if (transform !== undefined || $ref !== undefined) return "no equivalent";
  const value = given ?? undefined; // YAML has null for none
  if (typeof value === "string" && value.startsWith("file://")) return "code, which is not run";
  const whole = Array.isArray(value)
    ? value.map((each) => filledValue(each, values))
    : filledValue(value, values);
  const isOpen = [whole].flat().includes(undefined) && value !== undefined;
  if (isOpen) return "a template with logic or without its variables";
  const limit = typeof threshold === "number" ? threshold : undefined;
  return expectedKeys({ type: String(type), value: whole, threshold: limit }, judge);
}

/** Both expectations: conditions and criteria add up. */
function joined(one: ExpectedKeys, other: ExpectedKeys): ExpectedKeys {
  const expect = [...(one.expect ?? []), ...(other.expect ?? [])];
  const criteria = [one, other].flatMap(({ judge }) => judge?.criteria ?? []).join("\n");
  const judge = one.judge && other.judge && { ...one.judge, ...other.judge, criteria };
  return { ...one, ...other, ...(expect.length > 0 && { expect }), ...(judge && { judge }) };
}

/** A row of CSV as a test: columns are variables, those with `__` say something about the test. */
export function caseOfRow(row: Values): Values {
  const cells = Object.entries(row).filter(([, cell]) => cell !== "");
  const description = row["__description"];
  const others = cells.filter(([column]) => /^__(?!expected\d*$|description$)/.test(column));
  return {
    ...Object.fromEntries(others), // which are listed
    ...(description !== "" && { description }),
    vars: Object.fromEntries(cells.filter(([column]) => !column.startsWith("__"))),
    assert: cells.flatMap(([column, cell]) =>
      /^__expected\d*$/.test(column) ? [cellAssertion(String(cell))] : [],
    ),
  };
}

/** `contains-any: a, b` or `similar(0.8): a`; other texts are an answer that must be equal. */
function cellAssertion(cell: string): Values {
  const [, not = "", type = "", threshold, value] =
    /^(not-)?([a-z-]+)(?:\((\d+(?:\.\d+)?)\))?(?::\s*(.*))?$/s.exec(cell) ?? [];
  if (!isAssertionType(type)) return { type: "equals", value: cell };
  const limit = threshold === undefined ? {} : { threshold: Number(threshold) };
  return { type: not + type, ...(value !== undefined && { value }), ...limit };
}

const placeholder = /\{\{([^{}]*)\}\}/g;

const variablesIn = (template: string): string[] =>
  [...template.matchAll(placeholder)].map(([, name = ""]) => name.trim());

/** A template with its variables; undefined if it has filters, logic or variables without a value. */
function filled(template: string, values: Values): string | undefined {
  const isKnown = (name: string) => Object.hasOwn(values, name);
  const isPlain = !/\{[{%#]/.test(template.replace(placeholder, ""));
  if (!isPlain || !variablesIn(template).every(isKnown)) return undefined;
  return template.replace(placeholder, (_, name: string) => textOf(values[name.trim()]));
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : stringifyJson(value);

const filledValue = (value: unknown, values: Values): unknown =>
  typeof value === "string" ? filled(value, values) : value;

/** An assertion of promptfoo, with its variables filled in. */
export interface Assertion {
  readonly type: string;
  readonly value: unknown;
  readonly threshold: number | undefined;
}

/** Keys of a test that say what is expected. */
export interface ExpectedKeys {
  readonly expect?: readonly string[];
  readonly answer?: string | readonly string[];
  readonly compare?: "json" | "similar";
  readonly similarity?: number;
  readonly judge?: { readonly app: string; readonly criteria: string; readonly at_least?: number };
  readonly supported?: { readonly at_least?: number; readonly judge?: string };
}

/** A condition with a text of any characters. */
const says = (verb: string, text: string): string => `text ${verb} ${JSON.stringify(text)}`;

/** A condition with a pattern. Throws a SyntaxError for one that JavaScript does not know. */
const fits = (source: string, flags = ""): string =>
  `text matches ${String(new RegExp(source, flags))}`;

const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The texts of a list, or of a text with commas between them. */
const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : String(value).split(",")).map((each) => String(each).trim());

const anyOf = (value: unknown): string => listOf(value).map(literally).join("|");

/** The conditions that say the same as an assertion. */
const conditions: Readonly<Record<string, (value: unknown, threshold?: number) => string[]>> = {
  equals: (value) => [says("is", String(value))],
  contains: (value) => [says("contains", String(value))],
  icontains: (value) => [fits(literally(String(value)), "i")],
  "contains-all": (value) => listOf(value).map((each) => says("contains", each)),
  "icontains-all": (value) => listOf(value).map((each) => fits(literally(each), "i")),
  "contains-any": (value) => [fits(anyOf(value))],
  "icontains-any": (value) => [fits(anyOf(value), "i")],
  "starts-with": (value) => [fits(`^${literally(String(value))}`)],
  regex: (value) => [fits(String(value))],
  "is-json": (value) => (value === undefined ? ["text is valid json"] : []),
  "contains-json": (value) => (value === undefined ? ["text contains json"] : []),
  latency: (_, threshold) => (threshold === undefined ? [] : [`run took at most ${threshold}ms`]),
};

/** What a suite takes as the threshold of a type: a time in milliseconds, a number of letters, or a share. */
function isThreshold(type: string, threshold: number): boolean {
  if (type === "latency") return threshold >= 0 && threshold < 1e15;
  return threshold >= 0 && (type === "levenshtein" || threshold <= 1);
}

/** Criteria of a judge that gets the value as the expected answer. */
const factual = "The answer agrees with the facts of the expected answer.";

const rubric = /^(llm-rubric|model-graded-closedqa)$/;
const factuality = /^(model-graded-)?factuality$/;
const faithfulness = /^context-faithfulness$/;

/** Types that a cell of a table may name; any other text there is an expected answer. */
const isAssertionType = (type: string): boolean =>
  Object.hasOwn(conditions, type) ||
  /^(similar|levenshtein|cost|javascript|fn|eval|python|webhook|file)$/.test(type) ||
  rubric.test(type) ||
  factuality.test(type) ||
  faithfulness.test(type);

/** What a suite expects instead of an assertion, or why there is nothing like it. */
export function expectedKeys(
  { type, value, threshold }: Assertion,
  judge: string | undefined,
): ExpectedKeys | string {
  const isNegated = type.startsWith("not-");
  const plain = isNegated ? type.slice("not-".length) : type;
  if (plain === "equals" && !isNegated && (isObject(value) || Array.isArray(value)))
    return { answer: stringifyJson(value), compare: "json" };
  if ((value === undefined || value === null) && !/^latency$|-json$|-faithfulness$/.test(plain))
    return "no equivalent";
  if ([value].flat().some(isObject) || (Array.isArray(value) && value.length === 0))
    return "no equivalent";
  if (threshold !== undefined && !isThreshold(plain, threshold))
    return `a threshold of ${threshold}`;
  if (Object.hasOwn(conditions, plain))
    return expectedConditions({ type: plain, value, threshold }, isNegated);
  if (isNegated) return "no equivalent";
  const limit = threshold === undefined ? {} : { at_least: threshold };
  if (faithfulness.test(type))
    return { supported: { ...limit, ...(judge !== undefined && { judge }) } };
  const answer = Array.isArray(value) ? value.map(String) : String(value);
  if (type === "similar") return { answer, compare: "similar", similarity: threshold ?? 0.75 };
  if (type === "levenshtein") {
    const similarity = 1 - (threshold ?? 5) / Math.max(1, String(value).length);
    return { answer, compare: "similar", similarity: Math.max(0, Number(similarity.toFixed(2))) };
  }
  if (!rubric.test(type) && !factuality.test(type)) return "no equivalent";
  if (judge === undefined) return "needs --judge NAME";
  if (factuality.test(type)) return { answer, judge: { app: judge, criteria: factual } };
  return { judge: { app: judge, criteria: String(value), ...limit } };
}

function expectedConditions(
  { type, value, threshold }: Assertion,
  isNegated: boolean,
): ExpectedKeys | string {
  try {
    const expect = conditions[type]?.(value, threshold) ?? [];
    if (expect.length === 0) return type === "latency" ? "without a threshold" : "with a schema";
    return { expect: isNegated ? [`not (${expect.join(" and ")})`] : expect };
  } catch (error) {
    if (error instanceof SyntaxError) return "a pattern that JavaScript does not know";
    throw error;
  }
}
