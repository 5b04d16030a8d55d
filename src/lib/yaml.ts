import type { Document, YAMLMap } from "yaml";

/** A text read as YAML, or what is wrong with it and where. */
export type Yaml =
  | {
      readonly document: Document.Parsed;
      /** All of it as plain values. */
      readonly value: unknown;
      /** From 1, of a place in the text. */
      readonly lineAt: (offset: number) => number;
    }
  | { readonly problem: string; readonly line: number };

/** Reads YAML; with `strict` what its parser only warns of is wrong too. Never throws. */
export async function yamlIn(text: string, { strict = false } = {}): Promise<Yaml> {
  const { LineCounter, isScalar, parseDocument, visit } = await import("yaml");
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  try {
    // The parser compares every key with all others: thousands would take minutes.
    const document = parseDocument(text, {
      lineCounter: lines,
      logLevel: "error",
      uniqueKeys: false,
    });
    const [broken] = [...document.errors, ...(strict ? document.warnings : [])];
    if (broken) return { problem: wordsOf(broken), line: lineAt(broken.pos[0]) };
    let twice: number | undefined;
    visit(document, {
      Map(_, map: YAMLMap) {
        const keys = new Set<unknown>();
        for (const { key } of map.items) {
          if (!isScalar(key)) continue;
          if (keys.has(key.value)) twice ??= key.range?.[0] ?? 0;
          keys.add(key.value);
        }
      },
    });
    if (twice !== undefined) return { problem: "Map keys must be unique", line: lineAt(twice) };
    return { document, value: document.toJS() as unknown, lineAt };
  } catch (error) {
    // Aliases of nothing or too many of them, and lists in lists in lists.
    return { problem: error instanceof Error ? wordsOf(error) : "this is no YAML", line: 1 };
  }
}

/** The parser's words without the place and the picture of it. */
const wordsOf = ({ message }: Error): string =>
  message.split("\n", 1)[0]?.replace(/( at line \d+, column \d+)?:$/, "") ?? "";
