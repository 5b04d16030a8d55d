import { zipSync } from "fflate";

/** A file to archive; the name has no directories. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Creates a ZIP archive without compression, in order. */
export const createZip = (entries: readonly ZipEntry[], modified: Date): Uint8Array =>
  zipSync(Object.fromEntries(entries.map(({ name, bytes }) => [keyOf(name), bytes])), {
    level: 0,
    mtime: modified,
  });

/** A name as the key of an object: as such, numbers would come first, and `__proto__` would be lost. */
const keyOf = (name: string): string => (/^(\d+|__proto__)$/.test(name) ? `./${name}` : name);

/** Names in the server's archives: the last path part, made unique by a number (server §9.7). */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((each) => {
    const base = each.trim().split(/[/\\]/).pop() || "file";
    const dot = base.lastIndexOf(".");
    const [stem, extension] = dot > 0 ? [base.slice(0, dot), base.slice(dot)] : [base, ""];
    let name = base;
    for (let number = 1; taken.has(name); number++) name = `${stem} (${number})${extension}`;
    taken.add(name);
    return name;
  });
}
