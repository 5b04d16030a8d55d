import type { Document, YAMLMap } from "yaml";

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
    });
    const [broken] = [...document.errors, ...(strict ? document.warnings : [])];
    if (broken) {
      const isSecond = broken.code === "MULTIPLE_DOCS";
      const problem = isSecond ? "expected one document, not a second one" : wordsOf(broken);
      return { problem, line: lineAt(broken.pos[0]) };
    }
    let duplicate: number | undefined;
    visit(document, {
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
    return { document, value: document.toJS() as unknown, lineAt };
  } catch (error) {
    // Undefined or too many aliases, and deeply nested lists.
    return { problem: error instanceof Error ? wordsOf(error) : "invalid YAML", line: 1 };
  }
}

/** The message of the parser without the position and the excerpt. */
const wordsOf = ({ message }: Error): string =>
  message.split("\n", 1)[0]?.replace(/( at line \d+, column \d+)?:$/, "") ?? "";
