import { CliError } from "../errors.ts";
import { isObject, parseJson, stringifyJson, valueAt } from "../lib/json.ts";
import { streamDecoder } from "../lib/text.ts";
import type { RequiredFields, Returns } from "../operations/operation.ts";
import { readText } from "../lib/collect.ts";
import type { HttpResponse } from "./exchange.ts";
import { CHECK_BASE_URL, NOT_API } from "./request.ts";
import { isNumeric } from "../lib/exact-number.ts";

/** Reads a response as its row declares: JSON, nothing, or the unread bytes. */
export type ReadBody = (response: HttpResponse) => Promise<unknown>;

/**
 * The reader for the responses of a row: streams and files are handed out unread. With `strict` the
 * response must have the fields that the row declares, because code depends on them; otherwise it is
 * shown as it is.
 */
export function bodyReader(returns: Returns<never>, strict = false): ReadBody {
  if (returns.kind === "events") {
    return returns.orResponse ? streamOrJson : eventStream;
  }
  if (returns.kind === "file") return (response) => fileBytes(response, returns.media ?? "");
  if (returns.kind === "nothing") return readNothing;
  return async (response) => {
    const value = await json(response);
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

async function json(response: HttpResponse): Promise<unknown> {
  const text = await readText(response.body);
  if (response.alreadyApplied) return {};
  if (text === "") {
    throw new CliError(
      "failure",
      `invalid response: expected JSON, received an empty body (${response.status})`,
    );
  }
  if (typeOf(response).includes("html") || text.trimStart().startsWith("<")) throw htmlError();
  try {
    return parseJson(text);
  } catch (cause) {
    throw new CliError("failure", "invalid response: malformed or incomplete JSON", {
      cause,
      hint: "retry; if it fails again, a proxy may alter the responses",
    });
  }
}

/** Reads a 204, which is a 200 with the body `204` on servers before 1.13.0 (server §19). */
async function readNothing(response: HttpResponse): Promise<undefined> {
  const text = await readText(response.body);
  if (typeOf(response).includes("html") && text.trimStart().startsWith("<")) throw htmlError();
}

/** How an event stream starts: with a field, of at most six characters, or with a comment. */
const eventStart = /^\s*(data|event|id|retry)?:/;

/** Characters after which empty lines are no event stream. */
const MAX_START = 1024;

async function eventStream(response: HttpResponse): Promise<unknown> {
  if (typeOf(response).includes("text/event-stream")) return response.body;
  const pieces = response.body[Symbol.asyncIterator]();
  const decode = streamDecoder();
  const read: Uint8Array[] = [];
  let start = "";
  // A proxy may change the type of a stream, whose run has started, and pass it on byte by byte.
  while (!eventStart.test(start) && start.trimStart().length < 6 && start.length < MAX_START) {
    const { done, value } = await pieces.next();
    if (done) break;
    read.push(value);
    start += decode(value);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield* read;
    yield* { [Symbol.asyncIterator]: () => pieces };
  }
  if (eventStart.test(start)) return whole();
  const text = await readText(whole());
  if (text.trimStart().startsWith("<")) throw htmlError();
  throw new CliError("failure", "invalid response: expected an event stream", {
    hint: `the response starts with: ${text.slice(0, 200)}`,
  });
}

/** A JSON response as a stream of one event. */
async function streamOrJson(response: HttpResponse): Promise<unknown> {
  if (!typeOf(response).includes("application/json")) return eventStream(response);
  const value = stringifyJson(await json(response));
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
    const found = kind.startsWith("=") && value ? `is ${stringifyJson(value)}` : describe(value);
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
  scalar: [
    "a single value",
    (value) => ["string", "boolean"].includes(typeof value) || isNumeric(value),
  ],
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
  if (isNumeric(value) && typeof value !== "number") return "has too many digits";
  return `is ${{ string: "text", object: "an object", boolean: String(value) }[typeof value as string] ?? "a number"}`;
}
