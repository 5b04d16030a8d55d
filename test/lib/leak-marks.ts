import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

/** A recognisable key with characters that JSON and URLs encode. */
export const markedKey = (kind: "dataset" | "app" | "sk" | "proxy", source: string): string =>
  `${kind}-/Leak${source}Qz7+"\\%/0123`;

/** What all of these keys hold, in the middle: a part of a key is a leak, too. */
const core = /leak[a-z]+qz7/gi;

/** The ways in which a server may encode what it received. */
export const spellings: Readonly<Record<string, (key: string) => string>> = {
  "as it is": (key) => key,
  "in JSON": (key) => JSON.stringify(key),
  "percent-encoded": (key) => encodeURIComponent(key),
  "every byte percent-encoded": (key) =>
    [...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join(""),
  "with escapes of JSON": (key) =>
    [...key].map((sign) => `\\u00${sign.charCodeAt(0).toString(16)}`).join(""),
  "in base64": (key) => Buffer.from(key).toString("base64"),
  "in base64 for URLs": (key) => Buffer.from(key).toString("base64url"),
  "in base64 behind one byte": (key) => Buffer.from(`:${key}`).toString("base64"),
  "in base64 behind a name": (key) => Buffer.from(`user:${key}, more`).toString("base64"),
};

/** The keys that a text holds, in any of those spellings: `LeakenvQz7`. */
export function leaks(text: string): string[] {
  const percent = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const escapes = text.replace(/\\+u00([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  // A group of four can start anywhere.
  const base64 = (text.match(/[\w+/-]{12,}/g) ?? []).flatMap((run) =>
    [0, 1, 2, 3].map((at) => Buffer.from(run.slice(at), "base64").toString("latin1")),
  );
  // A pattern made of a key holds it sign by sign: the first word of each group, or of each class.
  const pattern = text.replace(/\(\?:(?:\\*\{0,\d\})?\[?\\?(.)[^)]*\)/g, "$1");
  return [text, percent, escapes, pattern, ...base64].flatMap((each) => each.match(core) ?? []);
}

/** Every file below a directory: relative path → text. */
export async function filesBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path.slice(folder.length + 1), await readFile(path, "latin1"));
  }
  return found;
}
