import { isObject } from "../../../lib/json.ts";
import { onlyJsonIn } from "./json-answer.ts";

/** What a judge says about an answer. */
export interface JudgeVerdict {
  /** From 0 to 1, or a plain decision. */
  readonly decision: number | "pass" | "fail";
  readonly reason: string | undefined;
}

/** What a judge must say. */
export const verdictShape = '{"score": 0 to 1} or {"verdict": "pass" or "fail"}';

/**
 * Reads a verdict: fields `score` or `verdict`, and `reason`, in the outputs of a workflow, in its only
 * output, or in a text that is JSON. Undefined if there is none, or both a score and a verdict.
 */
export function readVerdict(said: unknown): JudgeVerdict | undefined {
  const fields = fieldsIn(said);
  if (!fields) return undefined;
  const { score, verdict, reason } = fields;
  const decision = isGiven(verdict) ? decisionIn(verdict) : scoreIn(score);
  if (decision === undefined || (isGiven(verdict) && isGiven(score))) return undefined;
  return { decision, reason: typeof reason === "string" && isGiven(reason) ? reason : undefined };
}

function fieldsIn(said: unknown): Readonly<Record<string, unknown>> | undefined {
  const value = typeof said === "string" ? onlyJsonIn(said) : said;
  if (!isObject(value)) return undefined;
  const [only, ...more] = Object.values(value);
  if (isGiven(value["score"]) || isGiven(value["verdict"]) || more.length > 0) return value;
  const inner = typeof only === "string" ? onlyJsonIn(only) : only;
  return isObject(inner) ? inner : undefined;
}

/** A workflow has an empty output where a branch was not taken. */
const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === "string" && value.trim() === "");

/** Outputs of models and templates are texts. */
function scoreIn(value: unknown): number | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  const score = /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) ? Number(text) : value;
  return typeof score === "number" && score >= 0 && score <= 1 ? score : undefined;
}

function decisionIn(value: unknown): "pass" | "fail" | undefined {
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  return word === "pass" || word === "fail" ? word : undefined;
}
