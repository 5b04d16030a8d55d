import { isDeepStrictEqual } from "node:util";
import { Script } from "node:vm";
import { isObject, valueAt } from "../../../lib/json.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { quoted } from "./check.ts";
import type { CheckResult } from "./check.ts";
import { redactStructure } from "../../../redact/recordings.ts";
import { printedValue } from "../../../runs/text.ts";
import type { RunTrace } from "../../../runs/trace.ts";

/** A claim about an existing value; `passed` is undefined if that cannot be decided. */
export type Claim = (value: unknown) => {
  readonly passed: boolean | undefined;
  readonly actual: string;
};

/** The opposite claim; undecided stays undecided. */
export const not =
  (claim: Claim): Claim =>
  (value) => {
    const { passed, actual } = claim(value);
    return { passed: passed === undefined ? undefined : !passed, actual };
  };

const actualText = (value: unknown) => `it is ${quoted(value)}`;
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

export const equals =
  (expected: unknown): Claim =>
  (value) => ({ passed: isDeepStrictEqual(value, expected), actual: actualText(value) });

export const contains =
  (part: string): Claim =>
  (value) => ({ passed: textOf(value).includes(part), actual: actualText(value) });

export const comparisons = {
  ">=": (a: number, b: number) => a >= b,
  ">": (a: number, b: number) => a > b,
  "<=": (a: number, b: number) => a <= b,
  "<": (a: number, b: number) => a < b,
} as const;

/** Compares numbers and numeric texts. */
export const compares =
  (operator: keyof typeof comparisons, expected: number): Claim =>
  (value) => {
    const number =
      typeof value === "number" || (typeof value === "string" && value.trim() !== "")
        ? Number(value)
        : NaN;
    if (Number.isNaN(number))
      return { passed: undefined, actual: `${actualText(value)}, not a number` };
    return { passed: comparisons[operator](number, expected), actual: actualText(value) };
  };

/** Maximum number of characters to search, and maximum duration of a search. */
const MAX_SEARCHED = 64 * 1024;
const SEARCH_TIMEOUT_MS = 1000;
const search = new Script("pattern.test(text)");

/**
 * Searches for a pattern in the first 64 Ki characters. Some patterns take exponential time, so the
 * search is limited to a second.
 */
export const matches =
  (pattern: RegExp): Claim =>
  (value) => {
    const text = textOf(value);
    const start = text.slice(0, MAX_SEARCHED);
    try {
      // Only the timeout of a script can stop a regular expression.
      const isMatch = Boolean(
        search.runInNewContext({ pattern, text: start }, { timeout: SEARCH_TIMEOUT_MS }),
      );
      if (isMatch || start.length === text.length)
        return { passed: isMatch, actual: actualText(value) };
      return {
        passed: undefined,
        actual: `no match in the first ${MAX_SEARCHED} of ${text.length} characters; the rest is not searched`,
      };
    } catch (error) {
      if (!isTimeout(error)) throw error;
      return { passed: undefined, actual: `${pattern} timed out after ${SEARCH_TIMEOUT_MS} ms` };
    }
  };

/** The error comes from the script's context, which has its own Error class. */
const isTimeout = (error: unknown): boolean =>
  valueAt(error, "code") === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** A value of a run; undefined if it does not exist or is unknown. */
export type Subject = (trace: RunTrace) => {
  readonly value: unknown;
  /** The message if there is no value. */
  readonly absent: string;
  readonly unknown?: boolean;
};

/** An output of the run, by path. */
export const output =
  (path: string): Subject =>
  ({ outputs }) => {
    if (!isObject(outputs))
      return { value: undefined, absent: "the outputs are unknown", unknown: true };
    const names = Object.keys(outputs);
    const near = didYouMean(path.split(".")[0] ?? "", names);
    const list = names.length === 0 ? "the run has none" : `only ${names.map(quoted).join(", ")}`;
    const meant = near === undefined || near === path ? "" : ` (did you mean ${quoted(near)}?)`;
    return {
      value: valueAt(outputs, path),
      absent: `output not found${meant}, ${list}`,
    };
  };

/**
 * The text of the run. The stream may be incomplete or out of order; the outputs then have the whole
 * text (server §15.6, §18).
 */
export const text: Subject = ({ text: streamed, outputs, unwatched, pauses }) => {
  const whole = wholeText(outputs);
  const partial = unwatched || pauses > 0;
  if (whole !== undefined && (partial || whole.includes(streamed)))
    return { value: whole, absent: "" };
  if (unwatched) return { value: undefined, absent: "a part of it is missing", unknown: true };
  return { value: streamed === "" ? undefined : streamed, absent: "the run has none" };
};

/** The text in the outputs: `answer`, the only text, or all of them (server §15.5). */
function wholeText(outputs: unknown): string | undefined {
  if (!isObject(outputs)) return undefined;
  if (typeof outputs["answer"] === "string") return outputs["answer"];
  const [first, ...more] = Object.values(outputs).filter((value) => typeof value === "string");
  if (more.length === 0) return first;
  const all = Object.values(outputs).map(printedValue);
  return all.every((each) => each !== undefined) ? all.join("\n") : undefined;
}

/** The error of the run. Every failed run has one, but its event can be lost. */
export const error: Subject = ({ error: value, status }) =>
  value === undefined && (status === "failed" || status === "stopped")
    ? { value, absent: "the error is unknown", unknown: true }
    : { value, absent: "the run has none" };

/** Whether redaction keeps the value, because it has no texts and numbers. */
const isUnredacted = (value: unknown): boolean => isDeepStrictEqual(redactStructure(value), value);

/** Whether the value exists and meets the claim. */
export function claimed(subject: Subject, claim: Claim): (trace: RunTrace) => CheckResult {
  return (trace) => {
    const { value, absent } = subject(trace);
    if (value === undefined) return { passed: false, actual: absent };
    if (trace.redacted && !isUnredacted(value)) return { passed: false, actual: "it was redacted" };
    const { passed, actual } = claim(value);
    return { passed: passed === true, actual };
  };
}

/** Whether the value exists as expected. */
export function exists(subject: Subject, expected: boolean): (trace: RunTrace) => CheckResult {
  return (trace) => {
    const { value, absent, unknown } = subject(trace);
    const actual = value === undefined ? absent : actualText(value);
    return { passed: !unknown && (value !== undefined) === expected, actual };
  };
}
