import { resolve } from "node:path";
import { CliError, diskProblem, reasonOf, usage } from "../../errors.ts";
import type { ErrorInfo } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { BatchFile } from "./batch-file.ts";

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
