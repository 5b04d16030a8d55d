import { dirname } from "node:path";
import { CliError, diskProblem } from "../errors.ts";
import type { Host } from "../host/host.ts";

/**
 * Makes the directory of a file that is written when the work is done. Throws usage, before anything
 * is sent, where the path cannot take a file; `what` names it: `--junit r.xml`.
 */
export async function prepareOutput(what: string, path: string, { files }: Host): Promise<void> {
  const failed = (reason: string, cause?: unknown) =>
    new CliError(diskProblem(cause)?.kind ?? "usage", `${what}: ${reason}`, {
      sideEffect: "none",
      cause,
    });
  if ((await files.stat(path))?.isDirectory) throw failed("this is a directory");
  await files.makeDirectory(dirname(path)).catch((error: unknown) => {
    const problem = diskProblem(error);
    throw problem ? failed(problem.reason, error) : error;
  });
}
