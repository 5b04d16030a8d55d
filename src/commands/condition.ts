import { parseDuration } from "../lib/duration.ts";
import { usage } from "../errors.ts";

/** Type of a field: a number, seconds, a share from 0 to 1, or text. */
export type FieldKind = "number" | "seconds" | "share" | "text";

const operators = [">=", "<=", "!=", "!~", ">", "<", "=", "~"] as const;

/** A parsed comparison, such as `p95>20s`. */
export interface Condition {
  readonly field: string;
  readonly operator: (typeof operators)[number];
  /** Seconds, a share from 0 to 1, a number, or text. */
  readonly value: number | string;
  /** As given. */
  readonly text: string;
}

/**
 * Parses `name operator value`: `p95>20s`, `failed>2%`, `error~timeout`. Durations without a unit are
 * in seconds; `~` is a case-insensitive search. Throws usage with the position of the problem.
 */
export function parseCondition(
  option: string,
  text: string,
  fields: Readonly<Record<string, FieldKind>>,
): Condition {
  const fail = (at: number, problem: string, hint?: string) =>
    usage(
      `${option} ${JSON.stringify(text)}, position ${at + 1}: ${problem}`,
      hint ?? `example: ${example(fields, known)}`,
    );
  let known: string | undefined;
  const name = /^\s*([\p{L}_][\p{L}\p{N}_.@-]*)\s*/u.exec(text);
  if (!name) throw fail(0, "missing name");
  const [before, field = ""] = name;
  const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (kind === undefined) {
    const names = Object.keys(fields).join(", ");
    throw fail(text.indexOf(field), `unknown field ${field}`, `valid fields: ${names}`);
  }
  known = field;
  const rest = text.slice(before.length);
  const operator = operators.find((each) => rest.startsWith(each));
  if (operator === undefined) throw fail(before.length, `missing operator: ${operators.join(" ")}`);
  const at = before.length + operator.length;
  const written = text.slice(at).trim();
  if (kind === "text") {
    if (!["=", "!=", "~", "!~"].includes(operator))
      throw fail(before.length, `${field} is text; valid operators: = != ~ !~`);
    return { field, operator, value: unquoted(written), text };
  }
  if (operator === "~" || operator === "!~")
    throw fail(before.length, `${field} is a number; valid operators: > >= < <= = !=`);
  const value = numberIn(written, kind);
  if (typeof value === "string") throw fail(at + text.slice(at).search(/\S|$/), value);
  return { field, operator, value, text };
}

function example(fields: Readonly<Record<string, FieldKind>>, known: string | undefined): string {
  const field = known ?? Object.keys(fields)[0] ?? "name";
  const value = { number: ">10", seconds: ">20s", share: ">2%", text: "=word" }[
    fields[field] ?? "number"
  ];
  return `'${field}${value}'`;
}

/** The value in the unit of the field, or a message. */
function numberIn(written: string, kind: FieldKind): number | string {
  const number = /^-?\d+(\.\d+)?$/.test(written) ? Number(written) : undefined;
  if (kind === "seconds") {
    const ms = parseDuration(written);
    return number ?? (ms === undefined ? "invalid duration; valid: 20s, 1m30s" : ms / 1000);
  }
  if (kind === "share") {
    const percent = /^(\d+(?:\.\d+)?)%$/.exec(written)?.[1];
    if (percent !== undefined) return Number(percent) / 100;
    if (number === undefined) return "invalid share; valid: 2%, 0.02";
    return number > 1 || number < 0 ? "a share is at most 1; valid: 2%, 0.02" : number;
  }
  return number ?? "invalid number";
}

const unquoted = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;

/** Is the condition true for the value? A missing value fulfils only `!=` and `!~`. */
export function evaluateCondition({ operator, value }: Condition, actual: unknown): boolean {
  if (actual === undefined || actual === null) return operator === "!=" || operator === "!~";
  if (typeof value === "string") {
    const text = String(actual);
    const found = text.toLowerCase().includes(value.toLowerCase());
    return { "=": text === value, "!=": text !== value, "~": found, "!~": !found }[
      operator as "=" | "!=" | "~" | "!~" // parseCondition allows no others for text
    ];
  }
  const number = Number(actual);
  switch (operator) {
    case ">":
      return number > value;
    case ">=":
      return number >= value;
    case "<":
      return number < value;
    case "<=":
      return number <= value;
    case "!=":
      return number !== value;
    default:
      return number === value;
  }
}
