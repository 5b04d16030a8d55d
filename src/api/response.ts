import { CliError } from "../errors.ts";
import { define, isObject, valueAt } from "../lib/json.ts";
import { firstNames } from "../lib/text.ts";
import type { RequiredFields, Returns } from "../operations/operation.ts";
import { CHECK_BASE_URL, NOT_API } from "./api-error.ts";
import { readText } from "./exchange.ts";
import type { HttpResponse } from "./exchange.ts";

/** Reads a response as its row declares: JSON, nothing, or the unread bytes. */
export type ReadBody = (response: HttpResponse) => Promise<unknown>;

/**
 * The reader for the responses of a row: streams and files are handed out unread. With `strict` the
 * response must have the fields that the row declares, because code depends on them; otherwise it is
 * shown as it is. `onInexact` is called with fields whose numbers may have lost digits.
 */
export function bodyReader(
  returns: Returns<never>,
  strict = false,
  onInexact: OnInexact = () => Promise.resolve(),
): ReadBody {
  if (returns.kind === "events") {
    return returns.orResponse ? (response) => streamOrJson(response, onInexact) : eventStream;
  }
  if (returns.kind === "file") return (response) => fileBytes(response, returns.media ?? "");
  if (returns.kind === "nothing") return readNothing;
  return async (response) => {
    const value = await json(response, onInexact);
    const problem = response.alreadyApplied ? undefined : problemOf(returns, strict, value);
    if (problem === undefined) return value;
    throw invalidResponse(problem);
  };
}

/** The fields that code depends on if the row declares none: the ID. */
const idAt = ({
  columns,
  namePath: name = "id",
}: Extract<Returns<never>, { columns: unknown }>): RequiredFields =>
  columns.length === 0
    ? {}
    : name.split(".").reduceRight<RequiredFields>((inner, step) => ({ [step]: inner }), "id");

/** Why a response does not have the fields that its row declares. */
function problemOf(returns: Returns<never>, strict: boolean, value: unknown): string | undefined {
  if (!("columns" in returns)) return undefined;
  const fields = strict ? (returns.fields ?? idAt(returns)) : {};
  if (!("rows" in returns)) return problemIn(fields, value, "");
  const texts = returns.fields === "text" || returns.fields === "id";
  const rows: RequiredFields = [texts ? returns.fields : fields];
  return problemIn(rows, valueAt(value, returns.rows), returns.rows);
}

const typeOf = ({ headers }: HttpResponse) => headers["content-type"] ?? "";

async function json(response: HttpResponse, onInexact: OnInexact): Promise<unknown> {
  const text = await readText(response.body);
  if (response.alreadyApplied) return {};
  if (text === "") {
    throw new CliError(
      "failure",
      `invalid response: expected JSON, received an empty body (${response.status})`,
    );
  }
  if (typeOf(response).includes("html") || text.trimStart().startsWith("<")) throw htmlError();
  let parsed: ParsedNumbers;
  try {
    parsed = parseNumbers(text);
  } catch (cause) {
    throw new CliError("failure", "invalid response: malformed or incomplete JSON", {
      cause,
      hint: "retry; if it fails again, a proxy may alter the responses",
    });
  }
  await onInexact(parsed.inexact);
  return parsed.value;
}

/** Reads a 204, which is a 200 with the body `204` on servers before 1.13.0 (server §19). */
async function readNothing(response: HttpResponse): Promise<undefined> {
  const text = await readText(response.body);
  if (typeOf(response).includes("html") && text.trimStart().startsWith("<")) throw htmlError();
}

async function eventStream(response: HttpResponse): Promise<unknown> {
  if (typeOf(response).includes("text/event-stream")) return response.body;
  const pieces = response.body[Symbol.asyncIterator]();
  const first = await pieces.next();
  const start = first.done ? "" : new TextDecoder().decode(first.value);
  async function* whole(): AsyncGenerator<Uint8Array> {
    if (!first.done) yield first.value;
    yield* { [Symbol.asyncIterator]: () => pieces };
  }
  // A proxy may change the type of a stream; its run has started.
  if (/^\s*(data|event|id|retry)?:/.test(start)) return whole();
  const text = await readText(whole());
  if (text.trimStart().startsWith("<")) throw htmlError();
  throw new CliError("failure", "invalid response: expected an event stream", {
    hint: `the response starts with: ${text.slice(0, 200)}`,
  });
}

/** A JSON response as a stream of one event. */
async function streamOrJson(response: HttpResponse, onInexact: OnInexact): Promise<unknown> {
  if (!typeOf(response).includes("application/json")) return eventStream(response);
  const value = JSON.stringify(await json(response, onInexact));
  return (async function* () {
    yield new TextEncoder().encode(`data: ${value}\n\n`);
  })();
}

/** The unread bytes. Throws `remote-failed` for another media type: the server has no such file. */
async function fileBytes(response: HttpResponse, media: string): Promise<unknown> {
  if (typeOf(response).startsWith(media)) return response.body;
  const text = await readText(response.body);
  if (text.trimStart().startsWith("<")) throw htmlError();
  throw new CliError(
    "remote-failed",
    `expected ${media}*, received ${typeOf(response) || "no media type"}: ${text.slice(0, 200).trim()}`,
    { sideEffect: "none", hint: "check that the message exists and has an answer" },
  );
}

const htmlError = () =>
  new CliError("unsupported", NOT_API, { sideEffect: "none", hint: CHECK_BASE_URL });

/**
 * An integer with more digits than a double holds, or an exponent of that size. Digits are
 * counted only from the first one on: from each of them took 1.7 times as long.
 */
const largeNumber = /(?<!\d)\d{16}|\de\+?\d{3}/i;

const isInexact = (value: unknown): value is number =>
  typeof value === "number" && !Number.isSafeInteger(value) && !(value % 1);

const finite = (value: number): number =>
  Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));

/** A parsed JSON text. */
export interface ParsedNumbers {
  readonly value: unknown;
  /** The fields of integers that may have lost digits. */
  readonly inexact: ReadonlySet<string>;
}

/** Parses JSON. Numbers that overflow become the largest one, because JSON has no Infinity. */
export function parseNumbers(text: string): ParsedNumbers {
  const value: unknown = JSON.parse(text);
  const inexact = new Set<string>();
  if (!largeNumber.test(text)) return { value, inexact };
  const root = { value };
  // An explicit stack, because responses may be nested deeper than the call stack allows.
  const open: [holder: object, name: string][] = [[root, ""]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [holder, name] = next;
    for (const [key, each] of Object.entries(holder) as [string, unknown][]) {
      const field = Array.isArray(holder) ? name : key;
      if (typeof each === "object" && each !== null) open.push([each, field]);
      if (!isInexact(each)) continue;
      define(holder, key, finite(each));
      inexact.add(field);
    }
  }
  return { value: root.value, inexact };
}

/** Called with the fields of numbers that may have lost digits. */
export type OnInexact = (fields: ReadonlySet<string>) => Promise<void>;

/** Prints a notice for fields whose numbers may have lost digits, once for each. */
export function inexactNotice(notice: (text: string) => Promise<void>): OnInexact {
  const noticed = new Set<string>();
  return async (fields) => {
    const names = [...fields].filter((field) => !noticed.has(field));
    if (names.length === 0) return;
    for (const name of names) noticed.add(name);
    await notice(`some numbers are too large to be exact: ${firstNames(names)}`);
  };
}

/** The first missing or mistyped field of a value, with its path below `path`; undefined if all are valid. */
export function problemIn(
  fields: RequiredFields,
  value: unknown,
  path: string,
): string | undefined {
  const problem = checkFor(fields)(value);
  if (problem === undefined) return undefined;
  const place = [path, ...problem.steps].filter((step) => step !== "").join(".");
  return `${place || "it"} ${problem.found}`;
}

interface Problem {
  readonly steps: readonly string[];
  readonly found: string;
}

type Check = (value: unknown) => Problem | undefined;

/** The checks that were made: to read the fields for each row took eight times as long. */
const checks = new WeakMap<object, Check>();

function checkFor(fields: RequiredFields): Check {
  if (typeof fields === "string") return kindCheck(fields);
  const known = checks.get(fields);
  if (known) return known;
  const check = isList(fields) ? listCheck(checkFor(fields[0])) : objectCheck(fields);
  checks.set(fields, check);
  return check;
}

function kindCheck(kind: string): Check {
  const choices = kind.slice(1).split("|"); // =a|b
  const [name = choiceNames(choices), fits = isOneOf(choices)] = kinds[kind] ?? [];
  return (value) => {
    if (fits(value)) return undefined;
    const found = kind.startsWith("=") && value ? `is ${JSON.stringify(value)}` : describe(value);
    return { steps: [], found: `${found}, not ${name}` };
  };
}

const listCheck =
  (each: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return { steps: [], found: `${describe(value)}, not a list` };
    for (let index = 0; index < value.length; index++) {
      const problem = each(value[index]);
      if (problem) return below(String(index), problem);
    }
    return undefined;
  };

function objectCheck(fields: Readonly<Record<string, RequiredFields>>): Check {
  const { "*": every, ...named } = fields;
  const each = every && checkFor(every);
  const parts = Object.entries(named).map(([name, inner]) => {
    const field = name.replace(/\?$/, "");
    return { field, optional: field !== name, check: checkFor(inner) };
  });
  return (value) => {
    if (!isObject(value)) return { steps: [], found: `${describe(value)}, not an object` };
    if (each) {
      for (const name of Object.keys(value)) {
        const problem = each(value[name]);
        if (problem) return below(name, problem);
      }
      return undefined;
    }
    for (const { field, optional, check } of parts) {
      const part = value[field];
      if (optional && (part === undefined || part === null)) continue;
      const problem = check(part);
      if (problem) return below(field, problem);
    }
    return undefined;
  };
}

const below = (step: string, { steps, found }: Problem): Problem => ({
  steps: [step, ...steps],
  found,
});

/** A value that is optional in general and required here. Throws `failure`. */
export function requireField<T>(value: T | null | undefined, name: string): T {
  if (value !== undefined && value !== null) return value;
  throw invalidResponse(`${name} ${describe(value)}`);
}

/** The error for a response without the fields that the code depends on. */
export const invalidResponse = (problem: string) =>
  new CliError("failure", `invalid response: ${problem}`, { code: "invalid-response" });

const isList = (fields: RequiredFields): fields is readonly [RequiredFields] =>
  Array.isArray(fields);

const isText = (value: unknown): value is string => typeof value === "string";
const isFilled = (value: unknown): boolean => isText(value) && value !== "";

/** What a value of a kind is called, and whether a value is one; any other kind is a choice of texts. */
const kinds: Readonly<Record<string, readonly [string, (value: unknown) => boolean]>> = {
  number: ["a number", Number.isFinite],
  time: ["a time", (value) => Number.isFinite(value) && Math.abs(Number(value)) <= MAX_SECOND],
  scalar: ["a single value", (value) => ["string", "number", "boolean"].includes(typeof value)],
  flag: ["true or false", (value) => typeof value === "boolean"],
  text: ["text", isText],
  id: ["an ID", isFilled],
  name: ["a name", isFilled],
};

const MAX_SECOND = 8.64e12;

const choiceNames = (choices: readonly string[]): string =>
  choices.length === 1 ? JSON.stringify(choices[0]) : `one of ${choices.join(", ")}`;
const isOneOf = (choices: readonly string[]) => (value: unknown) =>
  isText(value) && choices.includes(value);

function describe(value: unknown): string {
  if (value === undefined) return "is missing";
  if (value === null) return "is null";
  if (value === "") return "is empty";
  if (Array.isArray(value)) return "is a list";
  return `is ${{ string: "text", object: "an object", boolean: String(value) }[typeof value as string] ?? "a number"}`;
}
