import { isDeepStrictEqual } from "node:util";
import type { Document, Node, Pair, YAMLMap, YAMLSeq } from "yaml";
import { isObject, stringifyJson, parseJson } from "../json.ts";
import { escapeUnsafe, needsQuotes, parseYaml } from "./yaml.ts";

type Path = readonly (string | number)[];

/** Sets a text in a mapping; in a list of texts, it is added as the last one. */
export interface YamlEdit {
  /** Keys and indexes that lead to the mapping. */
  readonly path: Path;
  readonly key: string;
  readonly text: string;
  /** Keys after the last of which a missing key is added, if they are single values. */
  readonly after: readonly string[];
}

/** Text that replaces the part of a file between two offsets. */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Changes texts in YAML. All else, comments and layout included, stays as it is. Undefined if that is
 * impossible: an alias would change what is elsewhere, too.
 */
export async function editYaml(
  source: string,
  edits: readonly YamlEdit[],
): Promise<string | undefined> {
  const parsed = await parseYaml(source);
  if ("problem" in parsed) return undefined;
  const yaml = await import("yaml");
  const place: Place = { source, document: parsed.document, yaml };
  const splices: Splice[] = [];
  const expected: unknown = parseJson(stringifyJson(parsed.value));
  for (const edit of edits) {
    const splice = spliceOf(edit, place);
    if (!splice) return undefined;
    splices.push(splice);
    setText(expected, edit);
  }
  let text = source;
  for (const splice of splices.toSorted((one, other) => other.from - one.from))
    text = text.slice(0, splice.from) + splice.text + text.slice(splice.to);
  const after = await parseYaml(text);
  const isRight =
    !("problem" in after) && isDeepStrictEqual(parseJson(stringifyJson(after.value)), expected);
  return isRight ? text : undefined;
}

interface Place {
  readonly source: string;
  readonly document: Document.Parsed;
  readonly yaml: typeof import("yaml");
}

function setText(value: unknown, { path, key, text }: YamlEdit): void {
  let at = value;
  for (const step of path) at = (at as Readonly<Record<string, unknown>>)[step];
  if (!isObject(at)) return;
  const known = at[key];
  at[key] = Array.isArray(known) ? [...known, text] : text;
}

function spliceOf({ path, key, text, after }: YamlEdit, place: Place): Splice | undefined {
  const { document, yaml } = place;
  const map = document.getIn(path, true);
  if (!yaml.isMap<Node, Node>(map)) return undefined;
  const pairOf = (name: string) =>
    map.items.find((pair) => yaml.isScalar(pair.key) && pair.key.value === name);
  const value = pairOf(key)?.value;
  if (yaml.isSeq<Node>(value)) return appended(value, text, place);
  if (value) return replaced(map, value, text, place);
  if (pairOf(key)) return undefined;
  const before = after.map(pairOf).filter((pair) => yaml.isScalar(pair?.value));
  return map.flow
    ? addedInFlow(map, key, text, place)
    : added(map, { key, text, before: before.at(-1) }, place);
}

function replaced(map: YAMLMap, value: Node, text: string, place: Place): Splice | undefined {
  const [from, to] = value.range ?? [];
  const isText = place.yaml.isScalar(value) || place.yaml.isAlias(value);
  if (from === undefined || to === undefined || !isText) return undefined;
  const old = place.source.slice(from, to);
  const isLast = old.endsWith("\n") || /^[ \t]*(\r?\n|$)/.test(place.source.slice(to));
  const isQuoted = map.flow === true || (!isLast && text.includes("\n"));
  const written = scalar(text, columnOf(map, place), isQuoted, place);
  return { from, to, text: old.endsWith("\n") ? written + lineEnd(place) : written };
}

function appended(list: YAMLSeq<Node>, text: string, place: Place): Splice | undefined {
  const last = list.items.at(-1);
  const end = last?.range?.[1];
  if (end === undefined || !place.yaml.isScalar(last)) return undefined;
  const indent = columnOf(list, place);
  const written = scalar(text, indent, list.flow === true, place);
  if (list.flow) return { from: end, to: end, text: `, ${written}` };
  return lineAfter(end, `${" ".repeat(indent)}- ${written}`, place);
}

/** Adds a key to a block mapping: in a line of its own after `before`, or else as its first key. */
function added(
  map: YAMLMap,
  { key, text, before }: { key: string; text: string; before: Pair<Node, Node | null> | undefined },
  place: Place,
): Splice | undefined {
  const indent = columnOf(map, place);
  const line = `${key}: ${scalar(text, indent, false, place)}`;
  const end = before?.value?.range?.[1];
  if (end !== undefined) return lineAfter(end, " ".repeat(indent) + line, place);
  const start = map.range?.[0];
  if (start === undefined) return undefined;
  return { from: start, to: start, text: line + lineEnd(place) + " ".repeat(indent) };
}

function addedInFlow(map: YAMLMap, key: string, text: string, place: Place): Splice | undefined {
  const last = (map.items as Pair<Node, Node | null>[]).at(-1);
  const end = last?.value?.range?.[1];
  if (end === undefined) return undefined;
  const isJson = place.source[last?.key.range?.[0] ?? 0] === '"';
  const name = isJson ? JSON.stringify(key) : key;
  return { from: end, to: end, text: `, ${name}: ${scalar(text, 0, true, place)}` };
}

/** A line after that of an offset, which may be the start of the next one. */
function lineAfter(offset: number, line: string, place: Place): Splice {
  const { source } = place;
  const found = source.indexOf("\n", source[offset - 1] === "\n" ? offset - 1 : offset);
  const from = found === -1 ? source.length : found + 1;
  const text = found === -1 ? lineEnd(place) + line : line + lineEnd(place);
  return { from, to: from, text };
}

const lineEnd = ({ source }: Place): string => (source.includes("\r\n") ? "\r\n" : "\n");

function columnOf({ range }: Node, { source }: Place): number {
  const start = range?.[0] ?? 0;
  return start - (source.lastIndexOf("\n", start - 1) + 1);
}

/**
 * A text as YAML, without a line end: the lines after the first are indented below `indent`. In double quotes
 * it is one line.
 */
function scalar(text: string, indent: number, isQuoted: boolean, place: Place): string {
  const { Scalar, stringify } = place.yaml;
  const node = new Scalar(text);
  if (isQuoted || needsQuotes(text)) node.type = Scalar.QUOTE_DOUBLE;
  const options = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER };
  const [first = "", ...others] = stringify({ k: node }, options)
    .slice(3)
    .replace(/\n$/, "")
    .split("\n");
  const below = others.map((line) => (line === "" ? "" : " ".repeat(indent) + line));
  return escapeUnsafe([first, ...below].join("\n")).replaceAll("\n", lineEnd(place));
}
