import { Zip, ZipDeflate } from "fflate";

/** A file to archive; the name has no directories. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Creates a ZIP archive without compression, in order: keys of an object would put `2` before `a.md`, and
 * lose `__proto__`.
 */
export function createZip(entries: readonly ZipEntry[], modified: Date): Uint8Array {
  const pieces: Uint8Array[] = [];
  const zip = new Zip((error, piece) => {
    if (error) throw error;
    pieces.push(piece);
  });
  for (const { name, bytes } of entries) {
    const file = Object.assign(new ZipDeflate(name, { level: 0 }), { mtime: modified });
    zip.add(file);
    file.push(bytes, true);
  }
  zip.end();
  return Buffer.concat(pieces);
}

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
