import { isObject, own } from "../../../../lib/json.ts";
import type { DraftOrReason, DraftTurn } from "./draft.ts";
import { expectedKeys, isAssertionType } from "./promptfoo-assertions.ts";
import type { ExpectedKeys } from "./promptfoo-assertions.ts";

/** What the flags say about variables and assertions. */
export interface PromptfooChoices {
  /** The variable that is the question, or `prompt` for the first prompt. */
  readonly query?: string | undefined;
  /** Input of a workflow that gets the question. */
  readonly input?: string | undefined;
  /** Application that judges. */
  readonly judge?: string | undefined;
}

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
      const isSecond = typeof keys !== "string" && keys.answer && all.answer;
      const problem = isSecond ? "a second expected answer" : keys;
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
  typeof value === "string" ? value : JSON.stringify(value);

const filledValue = (value: unknown, values: Values): unknown =>
  typeof value === "string" ? filled(value, values) : value;
