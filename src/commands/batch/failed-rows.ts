import { resolve } from "node:path";
import { CliError, diskProblem, reasonOf, usage } from "../../errors.ts";
import type { ErrorInfo } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { FileRow, RowFile } from "../../lib/formats/rows-file.ts";

/**
 * Opens the file of `--errors-to`; the returned function writes rows to it as they are in the file
 * `from`. Throws usage for a path that cannot be written, before anything is sent. A write that fails
 * later is reported after the results.
 */
export async function openFailedRows(
  path: string | undefined,
  from: string,
  table: RowFile,
  { cwd, files }: Pick<Host, "cwd" | "files">,
): Promise<(rows: readonly FileRow[]) => Promise<void>> {
  if (path === undefined) return () => Promise.resolve();
  if (path === "-" || resolve(cwd, path) === resolve(cwd, from)) {
    throw usage("--errors-to must be a different file");
  }
  const write = (rows: readonly FileRow[], info: ErrorInfo) =>
    files.writeAtomic(path, table.withOnly(rows)).catch((cause: unknown) => {
      const kind = diskProblem(cause)?.kind ?? "usage";
      const message = `failed to write --errors-to: ${reasonOf(cause)}`;
      throw new CliError(kind, message, { ...info, cause });
    });
  // Checks the path before anything is sent, and clears rows of an earlier run.
  await write([], { sideEffect: "none" });
  return (rows) => (rows.length === 0 ? Promise.resolve() : write(rows, { isResult: true }));
}
