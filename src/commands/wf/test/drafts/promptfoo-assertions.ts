import { isObject } from "../../../../lib/json.ts";

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

/** Types that a cell of a table may name; any other text there is an expected answer. */
export const isAssertionType = (type: string): boolean =>
  Object.hasOwn(conditions, type) ||
  /^(similar|levenshtein|cost|javascript|fn|eval|python|webhook|file)$/.test(type) ||
  rubric.test(type) ||
  factuality.test(type);

/** What a suite expects instead of an assertion, or why there is nothing like it. */
export function expectedKeys(
  { type, value, threshold }: Assertion,
  judge: string | undefined,
): ExpectedKeys | string {
  const isNegated = type.startsWith("not-");
  const plain = isNegated ? type.slice("not-".length) : type;
  if (plain === "equals" && !isNegated && (isObject(value) || Array.isArray(value)))
    return { answer: JSON.stringify(value), compare: "json" };
  if ((value === undefined || value === null) && !/^latency$|-json$/.test(plain))
    return "no equivalent";
  if ([value].flat().some(isObject) || (Array.isArray(value) && value.length === 0))
    return "no equivalent";
  if (threshold !== undefined && !isThreshold(plain, threshold))
    return `a threshold of ${threshold}`;
  if (Object.hasOwn(conditions, plain))
    return expectedConditions({ type: plain, value, threshold }, isNegated);
  if (isNegated) return "no equivalent";
  const answer = Array.isArray(value) ? value.map(String) : String(value);
  if (type === "similar") return { answer, compare: "similar", similarity: threshold ?? 0.75 };
  if (type === "levenshtein") {
    const similarity = 1 - (threshold ?? 5) / Math.max(1, String(value).length);
    return { answer, compare: "similar", similarity: Math.max(0, Number(similarity.toFixed(2))) };
  }
  if (!rubric.test(type) && !factuality.test(type)) return "no equivalent";
  if (judge === undefined) return "needs --judge NAME";
  if (factuality.test(type)) return { answer, judge: { app: judge, criteria: factual } };
  const limit = threshold === undefined ? {} : { at_least: threshold };
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
