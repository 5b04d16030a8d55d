import { isObject, tryParseJson } from "../../../lib/json.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import { counted } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { isCustomField } from "../documents/index.ts";
import type { FieldValues } from "../documents/index.ts";
import { decodePage } from "./charset.ts";
import { uploadKind } from "./content.ts";
import { convertPage } from "./in-thread.ts";
import { entryMaker, pathProblem } from "./paths.ts";
import { bytesFrom, outputOf, programFailed, sourceError } from "./program.ts";
import type { Program } from "./program.ts";
import { unsure } from "./source.ts";
import type { Source, SourceObject } from "./source.ts";
import { isNumeric } from "../../../lib/exact-number.ts";

/** Limits of what a program may print. */
const MAX_LINE = 2 ** 20;
const MAX_OBJECTS = 1_000_000;
const MAX_FINGERPRINT = 200;
/** Most bytes of an object whose size the list does not have. */
export const MAX_CONTENT = 2 ** 28;

/** An object as its program lists it: its path there, and its media type. */
interface Listed extends SourceObject {
  readonly given: string;
  readonly isHtml: boolean;
}

/**
 * A program as a source: `PROGRAM ARGS list` prints a JSON object a line and at last
 * `{"end":true,"complete":true}`; `PROGRAM ARGS get PATH` writes the content of an object.
 */
export function programSource(program: Program, address: string, context: Context): Source {
  const listed = new Map<string, Listed>();
  return {
    address,
    concurrency: 4,
    async list(filter) {
      const { objects, doubtful, problem } = await listProgram(program, context);
      const entryOf = await entryMaker(filter);
      for (const each of objects) listed.set(each.path, each);
      const entries = objects.map((each) => entryOf(each.path, () => each));
      const doubts = doubtful
        .filter((path) => !listed.has(path))
        .map((path) => unsure(path, "its source cannot tell"));
      return { entries: [...entries, ...doubts], problem };
    },
    async get({ path, size }) {
      const { given = path, isHtml = false, metadata } = listed.get(path) ?? {};
      const bytes = await bytesFrom(
        outputOf(program, ["get", given], context),
        size ?? MAX_CONTENT,
      );
      if (size !== undefined && bytes.length < size)
        throw sourceError(`incomplete: ${bytes.length} of ${counted(size, "byte")}`);
      if (!isHtml) return { bytes };
      const html = decodePage(bytes, "", true);
      const page = await convertPage(html, String(metadata?.["url"] ?? ""), context);
      return { bytes: new TextEncoder().encode(page.markdown), ...page };
    },
  };
}

/** Reads the list of a program; `problem` says why it is not complete. Throws failure for anything but the protocol. */
export async function listProgram(program: Program, context: Context) {
  const objects: Listed[] = [];
  const seen = new Set<string>();
  const name = program.words[0] ?? "";
  const wrong = (number: number, what: string) =>
    sourceError(`the source ${name} printed an invalid list: line ${number}: ${what}`);
  let end: Readonly<Record<string, unknown>> | undefined;
  let failure: string | undefined;
  const output = outputOf(program, ["list"], context);
  const tooLong = (number: number) => wrong(number, `longer than ${MAX_LINE} bytes`);
  try {
    for await (const { lines } of linesOf(limited(output, tooLong), tooLong, context)) {
      for (const { number, text } of lines) {
        if (text.trim() === "") continue;
        if (end) throw wrong(number, "a line after the end");
        const value = tryParseJson(text);
        if (!isObject(value)) throw wrong(number, "not a JSON object");
        if (value["end"] === true) {
          end = value;
          continue;
        }
        const object = objectOf(value, (what) => wrong(number, what));
        if (seen.has(object.path))
          throw wrong(number, `a second object with the path ${object.path}`);
        seen.add(object.path);
        objects.push(object);
        if (objects.length > MAX_OBJECTS) throw wrong(number, `more than ${MAX_OBJECTS} objects`);
      }
    }
  } catch (error) {
    if (!programFailed(error)) throw error;
    failure = error.message;
  }
  const { complete, unsure: doubtful = [] } = end ?? {};
  if (
    !Array.isArray(doubtful) ||
    doubtful.some((path) => typeof path !== "string" || pathProblem(path))
  )
    throw sourceError(`the source ${name} printed an invalid list: unsure is not a list of paths`);
  const missing = end ? "says that its list is not complete" : "printed no end of its list";
  const problem = failure ?? (complete === true ? undefined : `${name} ${missing}`);
  const paths = doubtful.map((path: string) => path.replace(/\/$/, ""));
  return { objects, doubtful: paths, problem };
}

/** The output, as long as its lines are not too long: an endless one would fill the memory. */
async function* limited(output: AsyncIterable<Uint8Array>, tooLong: (number: number) => Error) {
  let [length, number] = [0, 1];
  for await (const piece of output) {
    for (let at = 0; ;) {
      const end = piece.indexOf(10, at);
      length += (end < 0 ? piece.length : end) - at;
      if (length > MAX_LINE) throw tooLong(number);
      if (end < 0) break;
      [at, length] = [end + 1, 0];
      number++;
    }
    yield piece;
  }
}

/** An object of the list. Throws what is wrong with it. */
function objectOf(
  value: Readonly<Record<string, unknown>>,
  wrong: (what: string) => Error,
): Listed {
  const { path, fingerprint, size } = value;
  if (typeof path !== "string") throw wrong("path is missing");
  if (typeof fingerprint !== "string" || fingerprint === "" || fingerprint.length > MAX_FINGERPRINT)
    throw wrong(`fingerprint is not a text of 1 to ${MAX_FINGERPRINT} characters`);
  if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) >= 0))
    throw wrong("size is not a number of bytes");
  const text = (name: string) => {
    const found = value[name];
    if (found === undefined || found === null) return undefined;
    if (typeof found !== "string") throw wrong(`${name} is not a text`);
    return found;
  };
  text("modified");
  const isHtml = /^text\/html\b/i.test(text("media_type") ?? "") && !uploadKind(path);
  const [url, title] = [text("url"), text("title")];
  const named = { ...(url && { url }), ...(title && { title }) };
  const metadata = { ...valuesIn(value["metadata"] ?? {}, wrong), ...named };
  return {
    kind: "file",
    path: isHtml ? `${path}.md` : path,
    given: path,
    isHtml,
    fingerprint,
    ...(size !== undefined && { size: Number(size) }),
    metadata,
  };
}

function valuesIn(metadata: unknown, wrong: (what: string) => Error): FieldValues {
  const isValue = (value: unknown) => typeof value === "string" || isNumeric(value);
  if (!isObject(metadata) || !Object.values(metadata).every(isValue))
    throw wrong("metadata is not an object of texts and numbers");
  const reserved = Object.keys(metadata).find((name) => !isCustomField(name));
  if (reserved !== undefined)
    throw wrong(`metadata: ${JSON.stringify(reserved.slice(0, 40))} cannot be the name of a field`);
  return metadata as FieldValues;
}
