import { isObject } from "../json.ts";

/**
 * Values between two lines of `---` at the beginning of a text; lists are joined by commas, dates are
 * Unix seconds. Empty where there are none, undefined where they are no YAML mapping.
 */
export async function frontMatterOf(
  text: string,
): Promise<Readonly<Record<string, string | number>> | undefined> {
  const found = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*$/m.exec(text);
  if (!found || found.index !== 0) return {};
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(found[1] ?? "");
  } catch {
    return undefined;
  }
  if (value === null || value === undefined) return {};
  if (!isObject(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => {
      const plain = plainOf(each);
      return plain === undefined ? [] : [[name, plain]];
    }),
  );
}

function plainOf(value: unknown): string | number | undefined {
  if (typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "boolean") return String(value);
  if (value instanceof Date) return Math.floor(value.getTime() / 1000);
  if (Array.isArray(value)) return value.map((each) => String(plainOf(each) ?? "")).join(", ");
  return undefined;
}
