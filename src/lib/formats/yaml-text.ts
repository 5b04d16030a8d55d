import type { Document } from "yaml";

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
  const document = new Document(value, { aliasDuplicateObjects: false });
  document.commentBefore = comment.map((line) => ` ${withoutBreaks(line)}`).join("\n");
  const items = document.get(list);
  if (isSeq(items))
    for (const item of items.items.slice(1)) if (isNode(item)) item.spaceBefore = true;
  return textOf(document);
}

/** YAML in which every string reads back as a string, with readers of YAML 1.1 as well. */
export async function yamlText(value: unknown): Promise<string> {
  const { Document } = await import("yaml");
  return textOf(new Document(value, { compat: "yaml-1.1", aliasDuplicateObjects: false }));
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
const withoutBreaks = (line: string): string => line.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");

/** Characters that do not show what they are: controls, line separators, half pairs, bidi controls. */
const unsafe = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff\ufffe\uffff]/u;

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
