import { shellQuote } from "../../lib/command-line.ts";
import { CliError, usage } from "../../errors.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { secondsMeant } from "../../lib/times.ts";
import { parseDuration } from "../../lib/numbers.ts";
import { isObject, own, stringifyJson, parseJson } from "../../lib/json.ts";
import { isFileName, isIdPrefix, isUuid, NEWEST } from "../../lib/text.ts";
import { parseYaml } from "../../lib/formats/yaml.ts";
import type { PathFacts } from "../../commands/task/command-rules.ts";
import type { FileInput, Param, Shape } from "../../operations/operation.ts";
import { listCommand, nouns } from "../../resolve/nouns.ts";
import { isServerTime, timeInWords } from "./time-words.ts";
import { isFiniteNumber, isNumeric, compareNumbers, typedNumber } from "../../lib/exact-number.ts";

/** Files, stdin and the clock, for checking values. */
export interface Sources {
  /** Text of a file (`-` for stdin). Throws usage if it cannot be read, or not decoded. */
  text(path: string, encoding?: string): Promise<string>;
  /** A file that exists and is not read yet (`-` for stdin). Throws usage otherwise. */
  file(path: string): Promise<FileInput>;
  /** What is at a path; null for stdin, and where that cannot be told. */
  stat(path: string): Promise<PathFacts | null>;
  now(): Date;
  /** What stands for another parameter of the line. */
  given?(name: string): string | undefined;
  /** IANA name of the zone in which days begin. */
  timeZone(): string;
}

/**
 * The value of a parameter as the API expects it, or a name that is still to be resolved. `label` is its name in errors: `--description` or
 * `<name>`. Throws usage with the label, the value and the limit.
 */
export async function checkValue(
  label: string,
  param: Param,
  typed: TypedLine,
  sources: Sources,
): Promise<unknown> {
  if (param.many) {
    const words = Array.isArray(typed) ? (typed as readonly string[]) : [String(typed)];
    const items = param.kind === "choice" ? words.flatMap((word) => word.split(",")) : words;
    const values: unknown[] = [];
    for (const item of items) values.push(await checks[param.kind](label, param, item, sources));
    if (param.length)
      checkLength(label, String(values.length), param.length, [values.length, "times"]);
    return values;
  }
  if (typeof typed === "boolean") return typed;
  if (typeof typed === "object" && "file" in typed)
    return textValue(label, param, await sources.text(typed.file, sources.given?.("encoding")));
  const text = Array.isArray(typed) ? typed.join(" ") : String(typed);
  if (param.orFile && sources.given?.("encoding") !== undefined)
    throw usage(`--encoding is about files: it cannot be used with ${label}`);
  return checks[param.kind](label, param, text, sources);
}

/** Checks one word; gives its value, or a promise of it. */
type Check = (label: string, param: Param, text: string, sources: Sources) => unknown;

const checks: Readonly<Record<Param["kind"], Check>> = {
  text: textValue,
  ref: textValue,
  uuid: idValue,
  integer: numberValue,
  number: numberValue,
  flag: flagValue,
  choice: choiceValue,
  time: timeValue,
  duration: (label, _, text) => durationValue(label, text),
  json: jsonValue,
  file: fileValue,
  content: (_label, _param, text, sources) => sources.text(text),
};

/** Words for the parents of an object in a hint. */
const capitals: Readonly<Record<string, string>> = {
  dataset_id: "KB",
  document_id: "DOC",
  segment_id: "CHUNK",
  conversation_id: "CONVERSATION",
};

function idValue(label: string, { listed }: Param, text: string, { given }: Sources): string {
  const noun = listed && nouns[listed];
  if (isUuid(text) || (listed && isIdPrefix(text.replace(/^id:/, "")))) return text;
  if (noun?.newest && text === NEWEST) return text;
  const isNewest = `${NEWEST}, the newest ${noun?.title}`;
  if (noun?.newest && didYouMean(text, [NEWEST]) !== undefined)
    throw invalidValue(label, text, "is not a UUID", `did you mean ${isNewest}?`);
  const list = noun && listCommand(noun, (name) => given?.(name) ?? capitals[name]);
  const newest = noun?.newest ? `; ${NEWEST} is the newest ${noun.title}` : "";
  const enough = list ? `; the first 8 characters are enough${newest}; ${list} shows them` : "";
  throw invalidValue(
    label,
    text,
    "is not a UUID",
    `IDs look like 0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e${enough}`,
  );
}

function textValue(label: string, param: Param, text: string): string {
  if (text.includes("\0")) throw invalidValue(label, text, "contains a NUL character");
  if (param.kind === "ref" && text.trim() === "") throw invalidValue(label, text, "is empty");
  if (param.isOutputPath && text === "-")
    throw invalidValue(label, text, "is not the path of a file", "stdout is used for the results");
  if (param.length && !param.many && param.length[0] > 0 && /^\s+$/.test(text))
    throw invalidValue(label, text, "is blank");
  if (param.length && !param.many)
    checkLength(label, text, param.length, [[...text].length, "characters"]);
  return text;
}

async function fileValue(label: string, { length }: Param, text: string, sources: Sources) {
  const file = await sources.file(text).catch((error: unknown) => {
    const kb = sources.given?.("dataset_id");
    if (!(error instanceof CliError) || !kb || !isFileName(kb) || isFileName(text)) throw error;
    throw usage(
      error.message,
      `the knowledge base comes first: ${shellQuote(text)} ${shellQuote(kb)}`,
    );
  });
  const characters = [...file.name].length;
  if (length === undefined || characters <= length[1]) return file;
  throw invalidValue(
    label,
    text,
    `has a name of ${characters} characters; ${length[1]} are allowed`,
  );
}

function checkLength(
  label: string,
  text: string,
  [min, max]: readonly [number, number],
  [count, unit]: readonly [number, string],
): void {
  if (count < min || count > max) {
    throw invalidValue(label, text, `has ${count} ${unit}; ${min} to ${max} are allowed`);
  }
}

const numberForms = {
  integer: [/^[+-]?\d{1,15}$/, "is not a whole number"],
  number: [/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i, "is not a number"],
} as const;

/** `80%` for a number from 0 to 1. */
function shareHint(text: string, range: Param["range"]): string | undefined {
  const [, percent] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? [];
  return percent !== undefined && range?.[1] === 1
    ? `did you mean ${Number(percent) / 100}?`
    : undefined;
}

function numberValue(label: string, { kind, range }: Param, text: string): number {
  const [form, problem] = numberForms[kind === "integer" ? kind : "number"];
  const value = typedNumber(text);
  if (!form.test(text) || value === undefined || !isFiniteNumber(value))
    throw invalidValue(label, text, problem, shareHint(text, range));
  if (typeof value !== "number") throw invalidValue(label, text, "has too many digits");
  if (range && (value < range[0] || value > range[1])) {
    throw invalidValue(label, text, `is not between ${range[0]} and ${range[1]}`);
  }
  return value;
}

function flagValue(label: string, _: Param, text: string): boolean {
  if (text === "true") return true;
  if (text === "false") return false;
  throw invalidValue(label, text, "must be true or false");
}

function choiceValue(label: string, { choices = [] }: Param, text: string): string {
  if (choices.includes(text)) return text;
  const near = didYouMean(text, choices);
  throw invalidValue(
    label,
    text,
    `is not one of ${choices.join(", ")}`,
    near === undefined ? undefined : `did you mean ${near}?`,
  );
}

/** Milliseconds of `30s`, `5m`, `2h`, `1d`, `1h30m`; a number alone is seconds. Throws usage. */
export function durationValue(label: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const ms = parseDuration(text);
  if (ms === undefined)
    throw invalidValue(
      label,
      text,
      "is not a valid duration",
      "use a value such as 30s, 5m, 2h or 1d",
    );
  return ms;
}

/**
 * A time as the API expects it. ISO 8601 is sent unchanged (the server reads it as UTC without a
 * zone, server §12); other times become UTC.
 */
function timeValue(label: string, _: Param, text: string, { now, timeZone }: Sources): string {
  if (isServerTime(text)) return text;
  const time = timeInWords(text, now(), timeZone());
  if (time) return time.toISOString().replace(/\.\d{3}Z$/, "Z");
  if (/^\d{4}\/\d\d\/\d\d$/.test(text))
    throw invalidValue(
      label,
      text,
      "is not a valid time",
      `did you mean ${text.replaceAll("/", "-")}?`,
    );
  const meant = secondsMeant(text);
  if (meant !== undefined)
    throw invalidValue(
      label,
      text,
      "is not a valid time",
      `times are in seconds: ${label} ${meant}`,
    );
  const days = /^\d{1,3}$/.test(text) ? `${text}d is that many days; or ` : "";
  throw invalidValue(
    label,
    text,
    "is not a valid time",
    `${days}use a value such as yesterday, monday, '2 days ago', 2h or 2026-05-01T10:00Z`,
  );
}

async function jsonValue(
  label: string,
  param: Param,
  text: string,
  sources: Sources,
): Promise<unknown> {
  const path = text === "-" ? text : /^@([^]*)$/.exec(text)?.[1];
  const value = param.fromFile
    ? await yamlIn(label, text, sources)
    : parsed(label, path === undefined ? text : await sources.text(path));
  if (param.shape) checkShape(label, value, param.shape);
  return value;
}

async function yamlIn(label: string, path: string, sources: Sources): Promise<unknown> {
  const source = await sources.text(path).catch((error: unknown) => {
    throw error instanceof CliError ? error.with({}, `${label}: ${error.message}`) : error;
  });
  const yaml = await parseYaml(source);
  if ("problem" in yaml) throw usage(`${label} ${path} line ${yaml.line}: ${yaml.problem}`);
  return yaml.value;
}

function parsed(label: string, source: string): unknown {
  try {
    return parseJson(source);
  } catch (error) {
    const problem = `is not valid JSON: ${error instanceof Error ? error.message : ""}`;
    const isInput = label === "--inputs" && /^[\w-]+=/.test(source);
    const isFile = source.endsWith(".json");
    if (label === "--inputs" && source.endsWith(".csv"))
      throw invalidValue(
        label,
        source,
        problem,
        `a run for each row of a file: --each ${shellQuote(source)}`,
      );
    const other = isFile
      ? `a file is ${label} ${shellQuote(`@${source}`)}`
      : "quote it for the shell or use @file";
    const hint = isInput ? `a single input is --input ${shellQuote(source)}` : other;
    throw invalidValue(label, source, problem, hint);
  }
}

/** Throws for a JSON value that the server rejects; unknown fields pass (server §6). */
function checkShape(label: string, value: unknown, shape: Shape): void {
  const fail = (problem: string) => invalidValue(label, stringifyJson(value) ?? "", problem);
  switch (shape.kind) {
    case "any":
      return;
    case "flag":
      if (typeof value !== "boolean") throw fail("must be true or false");
      return;
    case "number":
    case "integer": {
      const whole = shape.kind === "integer";
      const isWhole = typeof value === "bigint" || Number.isInteger(value);
      if (!isNumeric(value) || (whole && !isWhole)) {
        throw fail(`is not a ${whole ? "whole " : ""}number`);
      }
      if (
        whole &&
        shape.range &&
        (compareNumbers(value, shape.range[0]) < 0 || compareNumbers(value, shape.range[1]) > 0)
      ) {
        throw fail(`is not between ${shape.range[0]} and ${shape.range[1]}`);
      }
      return;
    }
    case "text":
      if (typeof value !== "string") throw fail("is not a string");
      if (shape.choices && !shape.choices.includes(value)) {
        throw fail(`is not one of ${shape.choices.join(", ")}`);
      }
      return;
    case "list":
      if (!Array.isArray(value)) throw fail("is not an array");
      if (shape.length && (value.length < shape.length[0] || value.length > shape.length[1])) {
        throw fail(
          `has ${value.length} items; ${shape.length[0]} to ${shape.length[1]} are allowed`,
        );
      }
      for (const [index, item] of value.entries()) checkShape(`${label}.${index}`, item, shape.of);
      return;
    case "object":
      if (!isObject(value)) throw fail("is not an object");
      for (const [field, inner] of Object.entries(shape.fields ?? {})) {
        const at = own(value, field);
        // The server takes null where a field is not required.
        if (at === undefined || (at === null && !inner.required)) {
          if (inner.required) throw invalidValue(`${label}.${field}`, "", "is missing");
        } else checkShape(`${label}.${field}`, at, inner);
      }
  }
}

/** A usage error with the parameter, its value and the problem. */
export function invalidValue(
  label: string,
  value: string,
  problem: string,
  hint?: string,
): CliError {
  const shown = [...value].length > 60 ? `${[...value].slice(0, 60).join("")}…` : value;
  const quoted = value === "" ? "" : ` ${JSON.stringify(shown)}`;
  return usage(`${label}${quoted} ${problem}`, hint);
}

/** A value from the command line: a word, several, a boolean, or the path of a file with the text. */
export type TypedLine = string | readonly string[] | boolean | { readonly file: string };
