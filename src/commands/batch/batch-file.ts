import { missingPathHint } from "../../lib/did-you-mean.ts";
import { resolve } from "node:path";
import { CliError, diskProblem, reasonOf, usage } from "../../errors.ts";
import type { ErrorInfo } from "../../errors.ts";
import type { Host, ScratchFile } from "../../host/host.ts";
import { readRows, rowPlace } from "../../lib/formats/rows-file.ts";
import type { FileRows } from "../../lib/formats/rows-file.ts";
import type { Context } from "../task/command-spec.ts";

/** A file of rows, as given to `--each`. Each step reads a copy of it, so that none holds all rows. */
export interface BatchFile extends Pick<FileRows, "header"> {
  /** `-` for stdin. */
  readonly path: string;
  /** For messages. */
  readonly name: string;
  /** Number of its rows. */
  readonly count: number;
  /** Column → where it is first: the header of CSV, a row of JSON Lines. */
  readonly columns: ReadonlyMap<string, string>;
  bytes(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Consecutive rows, some at a time. */
  parts(): AsyncIterable<FileRows>;
}

/**
 * Reads the file of `--each`, and yields what `work` does with it. Throws usage for a path that cannot be
 * read and for mistakes in the file.
 */
export async function* withBatchFile<R>(
  path: string,
  { host, abortError }: Pick<Context, "host" | "abortError">,
  work: (file: BatchFile) => AsyncGenerator<R>,
): AsyncGenerator<R> {
  const name = path === "-" ? "stdin" : path;
  const copy = copyOf(name, host);
  async function* copied() {
    for await (const chunk of await contentOf(path, host)) {
      if (host.signal.aborted) throw abortError();
      await copy.add(chunk);
      yield chunk;
    }
  }
  const columns = new Map<string, string>();
  let [count, header] = [0, undefined as string | undefined];
  try {
    for await (const part of readRows(name, copied())) {
      ({ header } = part);
      count += part.rows.length;
      for (const column of part.columns ?? []) columns.set(column, "line 1");
      for (const row of part.columns ? [] : part.rows)
        for (const column of Object.keys(row.values))
          if (!columns.has(column)) columns.set(column, rowPlace(row));
    }
    const { bytes } = copy;
    const parts = () => readRows(name, bytes());
    yield* work({ path, name, count, columns, header, bytes, parts });
  } finally {
    await copy.close();
  }
}

async function contentOf(path: string, { files, stdin }: Host): Promise<AsyncIterable<Uint8Array>> {
  if (path === "-") return stdin.bytes();
  const stat = await files.stat(path);
  if (stat === null)
    throw usage(`failed to read ${path}: file not found`, await missingPathHint(path, files));
  if (stat.isDirectory) throw usage(`failed to read ${path}: is a directory`);
  return files.bytes(path);
}

/** Bytes of rows that are kept in memory; more are kept on disk. */
const MAX_HELD = 2 ** 20;
/** Bytes of rows on disk, so that a stream without an end does not fill it. */
const MAX_STORED = 2 ** 34;

/** Keeps the bytes of a file, which may change or be readable only once. */
function copyOf(name: string, { files, directories }: Host) {
  const held: Uint8Array[] = [];
  let size = 0;
  let stored: ScratchFile | undefined;
  const store = async (chunks: readonly Uint8Array[]) => {
    if (!stored) await files.makeDirectory(directories.state, 0o700);
    stored ??= await files.scratch(directories.state);
    for (const chunk of chunks) await stored.append(chunk);
  };
  return {
    async add(chunk: Uint8Array): Promise<void> {
      size += chunk.length;
      if (size > MAX_STORED) {
        const most = `${MAX_STORED / 2 ** 30} GiB`;
        throw usage(`${name} has more than ${most} of rows`, "divide the rows into several files");
      }
      held.push(chunk);
      if (size <= MAX_HELD) return;
      await store(held.splice(0)).catch((cause: unknown) => {
        const message = `failed to store the rows of ${name} in ${directories.state}: ${reasonOf(cause)}`;
        const kind = diskProblem(cause)?.kind ?? "failure";
        throw new CliError(kind, message, { sideEffect: "none", cause });
      });
    },
    bytes: () => stored?.bytes() ?? held,
    close: async () => stored?.close(),
  };
}

/**
 * Opens the file of `--errors-to`; the returned function writes the rows with a 1 at their number to it, as
 * they are in their file. Throws usage for a path that cannot be written, before anything is sent. A write
 * that fails later is reported after the results.
 */
export async function openFailedRows(
  path: string | undefined,
  from: BatchFile,
  { cwd, files }: Pick<Host, "cwd" | "files">,
): Promise<(left: Uint8Array) => Promise<void>> {
  if (path === undefined) return () => Promise.resolve();
  if (path === "-" || resolve(cwd, path) === resolve(cwd, from.path)) {
    throw usage("--errors-to must be a different file");
  }
  const write = (content: string | AsyncIterable<string>, info: ErrorInfo) =>
    files.writeAtomic(path, content).catch((cause: unknown) => {
      const kind = diskProblem(cause)?.kind ?? "usage";
      const message = `failed to write --errors-to: ${reasonOf(cause)}`;
      throw new CliError(kind, message, { ...info, cause });
    });
  const header = from.header === undefined ? "" : `${from.header}\n`;
  // Checks the path before anything is sent, and clears rows of an earlier run.
  await write(header, { sideEffect: "none" });
  async function* content(left: Uint8Array) {
    yield header;
    for await (const { rows } of from.parts())
      yield rows.map(({ number, raw }) => (left[number] ? `${raw}\n` : "")).join("");
  }
  return async (left) => {
    if (left.includes(1)) await write(content(left), { isResult: true });
  };
}
