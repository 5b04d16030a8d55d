import type { Document } from "yaml";
import { escapeUnsafe, needsQuotes } from "./yaml-scalars.ts";

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
