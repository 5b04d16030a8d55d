import { CliError } from "../errors.ts";
import { valueAt } from "../lib/json.ts";
import type { RequiredFields, Returns } from "../operations/operation.ts";
import { parseNumbers } from "./exact-numbers.ts";
import type { ParsedNumbers, OnInexact } from "./exact-numbers.ts";
import { invalidResponse, problemIn } from "./response-fields.ts";
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
  const text = await readText(response.body);
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
