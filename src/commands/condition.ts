import { parseDuration } from "../lib/duration.ts";
import { CliError } from "../errors.ts";

/** What a field holds: a number, seconds, a share from 0 to 1, or text. */
export type FieldKind = "number" | "seconds" | "share" | "text";

const operators = [">=", "<=", "!=", "!~", ">", "<", "=", "~"] as const;

/** A comparison like `p95>20s`, ready to be asked. */
export interface Condition {
  readonly field: string;
  readonly operator: (typeof operators)[number];
  /** Seconds, a share from 0 to 1, a number, or text. */
  readonly value: number | string;
  /** As it was typed. */
  readonly text: string;
}

/**
 * Reads `name operator value`: `p95>20s`, `failed>2%`, `error~timeout`. Durations are seconds
 * where no unit is given; `~` looks for a text inside, whatever its case. Throws usage with the
 * position of what does not fit.
 */
export function parseCondition(
  option: string,
  text: string,
  fields: Readonly<Record<string, FieldKind>>,
): Condition {
  const fail = (at: number, problem: string, hint?: string) =>
    new CliError("usage", `${option} ${JSON.stringify(text)}, position ${at + 1}: ${problem}`, {
      sideEffect: "none",
      hint: hint ?? `conditions look like ${example(fields, known)}`,
    });
  let known: string | undefined;
  const name = /^\s*([\p{L}_][\p{L}\p{N}_.@-]*)\s*/u.exec(text);
  if (!name) throw fail(0, "a name is missing");
  const [before, field = ""] = name;
  const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (kind === undefined) {
    const names = Object.keys(fields).join(", ");
    throw fail(text.indexOf(field), `there is no ${field}`, `it has: ${names}`);
  }
  known = field;
  const rest = text.slice(before.length);
  const operator = operators.find((each) => rest.startsWith(each));
  if (operator === undefined) throw fail(before.length, `one of ${operators.join(" ")} is missing`);
  const at = before.length + operator.length;
  const written = text.slice(at).trim();
  if (kind === "text") {
    if (!["=", "!=", "~", "!~"].includes(operator))
      throw fail(before.length, `${field} is text: it is compared by = != ~ or !~`);
    return { field, operator, value: unquoted(written), text };
  }
  if (operator === "~" || operator === "!~")
    throw fail(before.length, `${field} is a number: it is compared by > >= < <= = or !=`);
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

/** Value in the unit of the field, or what is wrong with it. */
function numberIn(written: string, kind: FieldKind): number | string {
  const number = /^-?\d+(\.\d+)?$/.test(written) ? Number(written) : undefined;
  if (kind === "seconds") {
    const ms = parseDuration(written);
    return number ?? (ms === undefined ? "this is no duration such as 20s or 1m30s" : ms / 1000);
  }
  if (kind === "share") {
    const percent = /^(\d+(?:\.\d+)?)%$/.exec(written)?.[1];
    if (percent !== undefined) return Number(percent) / 100;
    if (number === undefined) return "this is no share such as 2% or 0.02";
    return number > 1 || number < 0 ? "a share is at most 1: write it as 2% or 0.02" : number;
  }
  return number ?? "this is no number";
}

const unquoted = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;

/** Does a value meet the condition? One that is not there meets none but `!=` and `!~`. */
export function evaluateCondition({ operator, value }: Condition, actual: unknown): boolean {
  if (actual === undefined || actual === null) return operator === "!=" || operator === "!~";
  if (typeof value === "string") {
    const text = String(actual);
    const found = text.toLowerCase().includes(value.toLowerCase());
    return { "=": text === value, "!=": text !== value, "~": found, "!~": !found }[
      operator as "=" | "!=" | "~" | "!~" // parseCondition lets nothing else stand with text
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
