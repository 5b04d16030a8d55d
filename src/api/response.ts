import { CliError } from "../errors.ts";
import { valueAt } from "../lib/json.ts";
import type { RequiredFields, Returns } from "../operations/operation.ts";
import { parsedNumbers } from "./exact-numbers.ts";
import type { Parsed, TellInexact } from "./exact-numbers.ts";
import { invalid, problemIn } from "./response-fields.ts";
import { readText } from "./client.ts";
import type { HttpResponse } from "./client.ts";

/** What an answer holds, read as its row says: JSON, nothing, or the bytes still to be read. */
export type ReadBody = (answer: HttpResponse) => Promise<unknown>;

/**
 * How to read the answer of a row: streams and files are handed out unread. `acts`: somebody acts on
 * it, so it must hold what the row says; for people it is shown as it is. `inexact` hears of numbers that may
 * have lost digits.
 */
export function bodyReader(
  returns: Returns<never>,
  acts = false,
  inexact: TellInexact = () => Promise.resolve(),
): ReadBody {
  if (returns.kind === "events") {
    return returns.orAnswer ? (answer) => streamOrAnswer(answer, inexact) : eventStream;
  }
  if (returns.kind === "file") return (answer) => bytesOf(answer, returns.media ?? "");
  if (returns.kind === "nothing") return drained;
  return async (answer) => {
    const value = await json(answer, inexact);
    const problem = answer.alreadyApplied ? undefined : problemOf(returns, acts, value);
    if (problem === undefined) return value;
    throw invalid(problem);
  };
}

/** Whoever acts on a thing knows it by its id. Answers without columns say nothing that is known. */
const idAt = ({
  columns,
  namePath: name = "id",
}: Extract<Returns<never>, { columns: unknown }>): RequiredFields =>
  columns.length === 0
    ? {}
    : name.split(".").reduceRight<RequiredFields>((inner, step) => ({ [step]: inner }), "id");

/** What keeps an answer from being what its row says, in words. */
function problemOf(returns: Returns<never>, acts: boolean, value: unknown): string | undefined {
  if (!("columns" in returns)) return undefined;
  const reads = acts ? (returns.fields ?? idAt(returns)) : {};
  if (!("rows" in returns)) return problemIn(reads, value, "");
  const texts = returns.fields === "text" || returns.fields === "id";
  const rows: RequiredFields = [texts ? returns.fields : reads];
  return problemIn(rows, valueAt(value, returns.rows), returns.rows);
}

const typeOf = ({ headers }: HttpResponse) => headers["content-type"] ?? "";

async function json(answer: HttpResponse, tell: TellInexact): Promise<unknown> {
  const text = await readText(answer.body);
  if (answer.alreadyApplied) return {};
  if (text === "") {
    throw new CliError("failure", `the answer is empty (${answer.status}), and should be JSON`);
  }
  if (typeOf(answer).includes("html") || text.trimStart().startsWith("<")) throw webPage();
  let parsed: Parsed;
  try {
    parsed = parsedNumbers(text);
  } catch (cause) {
    throw new CliError("failure", "the answer is not whole JSON", {
      cause,
      hint: "repeat the command; if it stays, a proxy may change the answers",
    });
  }
  await tell(parsed.inexact);
  return parsed.value;
}

/** 204, or 200 with the body `204` on servers before 1.13.0 (server §19). */
async function drained(answer: HttpResponse): Promise<undefined> {
  const text = await readText(answer.body);
  if (typeOf(answer).includes("html") && text.trimStart().startsWith("<")) throw webPage();
}

async function eventStream(answer: HttpResponse): Promise<unknown> {
  if (typeOf(answer).includes("text/event-stream")) return answer.body;
  const text = await readText(answer.body);
  if (text.trimStart().startsWith("<")) throw webPage();
  throw new CliError("failure", "the server answered without an event stream", {
    hint: `its answer starts with: ${text.slice(0, 200)}`,
  });
}

/** A JSON answer as a stream of one event. */
async function streamOrAnswer(answer: HttpResponse, inexact: TellInexact): Promise<unknown> {
  if (!typeOf(answer).includes("application/json")) return eventStream(answer);
  const value = JSON.stringify(await json(answer, inexact));
  return (async function* () {
    yield new TextEncoder().encode(`data: ${value}\n\n`);
  })();
}

/** Bytes to be read. An answer of another media type is none: the server has nothing to give. */
async function bytesOf(answer: HttpResponse, media: string): Promise<unknown> {
  if (typeOf(answer).startsWith(media)) return answer.body;
  const text = await readText(answer.body);
  if (text.trimStart().startsWith("<")) throw webPage();
  throw new CliError(
    "remote-failed",
    `expected ${media}*, received ${typeOf(answer) || "no media type"}: ${text.slice(0, 200).trim()}`,
    { sideEffect: "none", hint: "a message that does not exist, or has no answer, gives nothing" },
  );
}

const webPage = () =>
  new CliError("unsupported", "this is not the API: the answer is a web page", {
    sideEffect: "none",
    hint: "check the base URL: it ends in /v1, as in https://example.com/v1",
  });
