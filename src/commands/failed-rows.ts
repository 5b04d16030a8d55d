import { resolve } from "node:path";
import { CliError, diskProblem, reasonOf } from "../errors.ts";
import type { ErrorInfo } from "../errors.ts";
import type { Host } from "../host/host.ts";
import type { FileRow, RowFile } from "../lib/rows-file.ts";

/**
 * Opens the file of `--errors-to` and gives what writes rows there, as they stood in the file `from`.
 * Throws usage for a path that cannot take them, before anything is sent; a write that fails later is
 * a verdict, for by then there are results.
 */
export async function openFailedRows(
  path: string | undefined,
  from: string,
  table: RowFile,
  { cwd, files }: Pick<Host, "cwd" | "files">,
): Promise<(rows: readonly FileRow[]) => Promise<void>> {
  if (path === undefined) return () => Promise.resolve();
  if (path === "-" || resolve(cwd, path) === resolve(cwd, from)) {
    throw new CliError("usage", "--errors-to takes the path of another file", {
      sideEffect: "none",
    });
  }
  const write = (rows: readonly FileRow[], info: ErrorInfo) =>
    files.writeAtomic(path, table.withOnly(rows)).catch((cause: unknown) => {
      const kind = diskProblem(cause)?.kind ?? "usage";
      const message = `--errors-to cannot be written: ${reasonOf(cause)}`;
      throw new CliError(kind, message, { ...info, cause });
    });
  // Known to work before anything is sent, and free of what failed last time.
  await write([], { sideEffect: "none" });
  return (rows) => (rows.length === 0 ? Promise.resolve() : write(rows, { isResult: true }));
}
