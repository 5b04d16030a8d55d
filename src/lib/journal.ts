import { CliError, isMissing, reasonOf, usage } from "../errors.ts";
import { isObject, tryParseJson, stringifyJson } from "./json.ts";

/** The file operations of a journal. */
export interface JournalFiles {
  read(path: string): Promise<Uint8Array>;
  stat(path: string): Promise<{ readonly isFile: boolean; readonly isDirectory: boolean } | null>;
  /** Appends and flushes to disk. */
  append(path: string, text: string, ownMode: number): Promise<void>;
  remove(path: string): Promise<void>;
}

/** A file of JSON objects, one per line, from which a command continues after a kill. */
export interface Journal {
  /** What earlier commands have appended. */
  readonly entries: readonly Readonly<Record<string, unknown>>[];
  /** Adds entries; resolves when they are on disk. Throws the system error, then for all further ones. */
  append(entries: Iterable<object>): Promise<void>;
  /** Deletes the file. */
  remove(): Promise<void>;
}

/**
 * Reads the journal at `path`; one that does not exist has no entries. Skips lines that are no JSON
 * objects, such as a last line that was cut off by a kill. Writes nothing. Throws usage for a file that
 * cannot be read: what it has must not be forgotten; and for a pipe, which may never end.
 */
export async function openJournal(path: string, files: JournalFiles): Promise<Journal> {
  const status = await files.stat(path);
  if (status && !status.isFile && !status.isDirectory)
    throw usage(`the journal ${path} is not a regular file`);
  const bytes = await files.read(path).catch((error: unknown) => {
    if (isMissing(error)) return new Uint8Array();
    if (error instanceof CliError) throw error; // interrupted
    throw usage(`failed to read the journal ${path}: ${reasonOf(error)}`, undefined, {
      cause: error,
    });
  });
  const text = new TextDecoder().decode(bytes);
  let pending = text === "" || text.endsWith("\n") ? "" : "\n"; // ends a line that was cut off
  let written = Promise.resolve();
  let next: Promise<void> | undefined;
  return {
    entries: text.split("\n").map(tryParseJson).filter(isObject),
    /**
     * Entries that arrive during a write go into the next one together, because a flush takes as long
     * for one as for a hundred. One write each, `--each` sends 52 instead of 87 % of the rows per second
     * of a bare loop (`npm run bench -- bulk`).
     */
    append(entries) {
      for (const entry of entries) pending += `${stringifyJson(entry)}\n`;
      next ??= written.then(() => {
        const lines = pending;
        pending = "";
        next = undefined;
        return files.append(path, lines, 0o600);
      });
      written = next;
      written.catch(() => {}); // thrown by the returned promise, which may be unused
      return written;
    },
    async remove() {
      await written.catch(() => {}); // it is deleted, so a failed write does not matter
      pending = "";
      await files.remove(path);
    },
  };
}
