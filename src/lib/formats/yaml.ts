import { ExactNumber, typedNumber } from "../exact-number.ts";
import { isObject } from "../json.ts";
import { controls, patternOf } from "../text.ts";
import type { Document, ScalarTag, Tags, YAMLMap } from "yaml";

/** Parsed YAML, or the first problem and its line. */
export type Yaml =
  | {
      readonly document: Document.Parsed;
      /** The content as plain values. */
      readonly value: unknown;
      /** The line of an offset, from 1. */
      readonly lineAt: (offset: number) => number;
    }
  | { readonly problem: string; readonly line: number };

/** Numbers of many digits or with an exponent, which the library would round. */
const longNumber: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^([-+]?(?=[\d.]{16}|[\d.]+e)(\d+(?:\.\d*)?|\.\d+)(e[-+]?\d+)?|0x[\da-f]{13,})$/i,
  resolve: (text) => typedNumber(text) ?? text,
  identify: (value) => value instanceof ExactNumber,
  stringify: ({ value }) => String(value),
};
const customTags = (tags: Tags): Tags => [longNumber, ...tags];

/** Parses YAML; with `strict`, warnings of the parser are problems too. Never throws. */
export async function parseYaml(text: string, { strict = false } = {}): Promise<Yaml> {
  const { LineCounter, isScalar, parseDocument, visit } = await import("yaml");
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  try {
    // The parser compares every key with all others, so thousands would take minutes.
    const document = parseDocument(text, {
      lineCounter: lines,
      logLevel: "error",
      uniqueKeys: false,
      merge: true, // <<
      customTags,
    });
    const [broken] = [...document.errors, ...(strict ? document.warnings : [])];
    if (broken) {
      const isSecond = broken.code === "MULTIPLE_DOCS";
      const problem = isSecond ? "expected one document, not a second one" : wordsOf(broken);
      return { problem, line: lineAt(broken.pos[0]) };
    }
    let [duplicate, infinite]: (number | undefined)[] = [];
    visit(document, {
      Scalar(_, { value, range }) {
        if (typeof value === "number" && !Number.isFinite(value)) infinite ??= range?.[0] ?? 0;
      },
      Map(_, map: YAMLMap) {
        const keys = new Set<unknown>();
        for (const { key } of map.items) {
          if (!isScalar(key)) continue;
          if (keys.has(key.value)) duplicate ??= key.range?.[0] ?? 0;
          keys.add(key.value);
        }
      },
    });
    if (duplicate !== undefined)
      return { problem: "Map keys must be unique", line: lineAt(duplicate) };
    if (infinite !== undefined)
      return { problem: "infinity and NaN are not JSON", line: lineAt(infinite) };
    return { document, value: document.toJS() as unknown, lineAt };
  } catch (error) {
    // Undefined or too many aliases, and deeply nested lists.
    return { problem: error instanceof Error ? wordsOf(error) : "invalid YAML", line: 1 };
  }
}

/** The message of the parser without the position and the excerpt. */
const wordsOf = ({ message }: Error): string =>
  message.split("\n", 1)[0]?.replace(/( at line \d+, column \d+)?:$/, "") ?? "";

/** The YAML block between two `---` lines at the top of a text. */
export type FrontMatter =
  | { readonly kind: "none" }
  | { readonly kind: "good"; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: "broken"; readonly line: number; readonly reason: string };

/** Parses the front matter of a text, or reports the line and the reason why it is invalid. */
export async function parseFrontMatter(text: string): Promise<FrontMatter> {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---") return { kind: "none" };
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line));
  if (end === -1) return { kind: "broken", line: 1, reason: "missing closing ---" };
  const yaml = await parseYaml(lines.slice(1, end).join("\n"));
  if ("problem" in yaml) return { kind: "broken", line: yaml.line + 1, reason: yaml.problem };
  const { value: fields } = yaml;
  if (fields === null) return { kind: "good", fields: {} };
  if (!isObject(fields)) return { kind: "broken", line: 2, reason: "expected name: value pairs" };
  return { kind: "good", fields };
}

/** YAML to read and edit: a comment, and items of `list` apart from each other. */
interface ReadableYaml {
  /** Lines before the content. */
  readonly comment: readonly string[];
  readonly value: Readonly<Record<string, unknown>>;
  /** The key of a list whose items an empty line separates. */
  readonly list: string;
}

/**
 * Formats values as YAML. Texts of any kind are read as they were: what YAML would take for something
 * else is quoted, and control and bidi characters are escaped.
 */
export async function readableYaml({ comment, value, list }: ReadableYaml): Promise<string> {
  const { Document, isNode, isSeq } = await import("yaml");
  const document = new Document(value, { aliasDuplicateObjects: false, customTags });
  document.commentBefore = comment.map((line) => ` ${withoutBreaks(line)}`).join("\n");
  const items = document.get(list);
  if (isSeq(items))
    for (const item of items.items.slice(1)) if (isNode(item)) item.spaceBefore = true;
  return textOf(document);
}

/** YAML in which every string reads back as a string, with readers of YAML 1.1 as well. */
export async function yamlText(value: unknown): Promise<string> {
  const { Document } = await import("yaml");
  return textOf(
    new Document(value, { compat: "yaml-1.1", aliasDuplicateObjects: false, customTags }),
  );
}

async function textOf(document: Document): Promise<string> {
  const { Scalar, visit } = await import("yaml");
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === "string" && needsQuotes(scalar.value))
        scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return escapeUnsafe(
    document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER }),
  );
}

/** A comment ends with its line. */
const withoutBreaks = (line: string): string => line.replace(breaks(), " ");
const breaks = patternOf(String.raw`[\p{Cc}\p{Zl}\p{Zp}]+`, "gu");

/** Characters that do not show what they are: controls, line separators, half pairs, bidi controls. */
const unsafe = new RegExp(String.raw`(?!\n)[${controls}\ud800-\udfff\ufeff\ufffe\uffff]`, "u");

/**
 * Whether a text needs double quotes: for characters to escape, because it is blank lines alone, or as
 * YAML 1.1 gives it a meaning that the library does not know.
 */
export const needsQuotes = (text: string): boolean =>
  unsafe.test(text) || text === "=" || text === "<<" || (text.includes("\n") && text.trim() === "");

/** YAML in which such characters are escaped; they must be between double quotes. */
export const escapeUnsafe = (yaml: string): string =>
  yaml.replace(
    new RegExp(unsafe, "gu"),
    (match) => `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
