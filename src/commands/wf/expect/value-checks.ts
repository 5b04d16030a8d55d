import { isDeepStrictEqual } from "node:util";
import { Script } from "node:vm";
import { isObject, valueAt } from "../../../lib/json.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { quoted } from "./check.ts";
import type { CheckResult } from "./check.ts";
import { redactStructure } from "../../../redact/recordings.ts";
import { printedValue } from "../../../runs/text.ts";
import type { RunTrace } from "../../../runs/trace.ts";

/** What is asked of a value that is there: `passed` is undefined where nobody can tell. */
export type Claim = (value: unknown) => {
  readonly passed: boolean | undefined;
  readonly actual: string;
};

/** The opposite; what cannot be told stays so. */
export const not =
  (claim: Claim): Claim =>
  (value) => {
    const { passed, actual } = claim(value);
    return { passed: passed === undefined ? undefined : !passed, actual };
  };

const shown = (value: unknown) => `it is ${quoted(value)}`;
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

export const equals =
  (wanted: unknown): Claim =>
  (value) => ({ passed: isDeepStrictEqual(value, wanted), actual: shown(value) });

export const contains =
  (part: string): Claim =>
  (value) => ({ passed: textOf(value).includes(part), actual: shown(value) });

export const comparisons = {
  ">=": (a: number, b: number) => a >= b,
  ">": (a: number, b: number) => a > b,
  "<=": (a: number, b: number) => a <= b,
  "<": (a: number, b: number) => a < b,
} as const;

/** Compares numbers, and texts that are one. */
export const compares =
  (operator: keyof typeof comparisons, wanted: number): Claim =>
  (value) => {
    const number =
      typeof value === "number" || (typeof value === "string" && value.trim() !== "")
        ? Number(value)
        : NaN;
    if (Number.isNaN(number)) return { passed: undefined, actual: `${shown(value)}, no number` };
    return { passed: comparisons[operator](number, wanted), actual: shown(value) };
  };

/** Most characters that a pattern is looked for in, and most ms that may take. */
const searched = 64 * 1024;
const patience = 1000;
const search = new Script("pattern.test(text)");

/**
 * Looks for a pattern. A pattern can take longer than anybody lives, so it gets a second and the
 * first 64 Ki characters; whether the rest holds it cannot be told.
 */
export const matches =
  (pattern: RegExp): Claim =>
  (value) => {
    const text = textOf(value);
    const start = text.slice(0, searched);
    try {
      // The only way to stop a search that is under way.
      const found = Boolean(
        search.runInNewContext({ pattern, text: start }, { timeout: patience }),
      );
      if (found || start.length === text.length) return { passed: found, actual: shown(value) };
      return {
        passed: undefined,
        actual: `not in its first ${searched} of ${text.length} characters, more are not searched`,
      };
    } catch (error) {
      if (!isTimeout(error)) throw error;
      return { passed: undefined, actual: `${pattern} was not done in ${patience} ms` };
    }
  };

/** The error is one of the script's own world, where Error is another one. */
const isTimeout = (error: unknown): boolean =>
  valueAt(error, "code") === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** A value of a run that sentences speak of: undefined where there is none, or why nobody knows. */
export type Subject = (trace: RunTrace) => {
  readonly value: unknown;
  /** What to say when there is no value. */
  readonly absent: string;
  readonly unknown?: boolean;
};

/** An output of the run, by path. */
export const output =
  (path: string): Subject =>
  ({ outputs }) => {
    if (!isObject(outputs))
      return { value: undefined, absent: "the outputs were not seen", unknown: true };
    const names = Object.keys(outputs);
    const near = didYouMean(path.split(".")[0] ?? "", names);
    const list = names.length === 0 ? "the run has none" : `only ${names.map(quoted).join(", ")}`;
    const meant = near === undefined || near === path ? "" : ` (did you mean ${quoted(near)}?)`;
    return {
      value: valueAt(outputs, path),
      absent: `there is no such output${meant}, ${list}`,
    };
  };

/**
 * The text of the answer. Where the stream may have had only a part of it, or has it in a wrong
 * order, the outputs have the whole (server §15.6, §18).
 */
export const text: Subject = ({ text: streamed, outputs, unwatched, pauses }) => {
  const whole = wholeText(outputs);
  const partial = unwatched || pauses > 0;
  if (whole !== undefined && (partial || whole.includes(streamed)))
    return { value: whole, absent: "" };
  if (unwatched) return { value: undefined, absent: "a part of it was lost", unknown: true };
  return { value: streamed === "" ? undefined : streamed, absent: "the run has none" };
};

/** The outputs that are the text: the one of that name, the only text, or all (server §15.5). */
function wholeText(outputs: unknown): string | undefined {
  if (!isObject(outputs)) return undefined;
  if (typeof outputs["answer"] === "string") return outputs["answer"];
  const [first, ...more] = Object.values(outputs).filter((value) => typeof value === "string");
  if (more.length === 0) return first;
  const all = Object.values(outputs).map(printedValue);
  return all.every((each) => each !== undefined) ? all.join("\n") : undefined;
}

/** The error of the run; the event that tells it can be lost, a run does not fail without one. */
export const error: Subject = ({ error: value, status }) =>
  value === undefined && (status === "failed" || status === "stopped")
    ? { value, absent: "the error was not seen", unknown: true }
    : { value, absent: "the run has none" };

/** Does a redacted recording hold the value itself? It leaves alone what has no text and no number. */
const isAsItWas = (value: unknown): boolean => isDeepStrictEqual(redactStructure(value), value);

/** Does the value meet the claim? One that is not there meets none. */
export function claimed(subject: Subject, claim: Claim): (trace: RunTrace) => CheckResult {
  return (trace) => {
    const { value, absent } = subject(trace);
    if (value === undefined) return { passed: false, actual: absent };
    if (trace.redacted && !isAsItWas(value)) return { passed: false, actual: "it was redacted" };
    const { passed, actual } = claim(value);
    return { passed: passed === true, actual };
  };
}

/** Is there a value, or is there none? */
export function exists(subject: Subject, wanted: boolean): (trace: RunTrace) => CheckResult {
  return (trace) => {
    const { value, absent, unknown } = subject(trace);
    const actual = value === undefined ? absent : shown(value);
    return { passed: !unknown && (value !== undefined) === wanted, actual };
  };
}
