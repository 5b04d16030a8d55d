import { dirname } from "node:path";
import { CliError, diskProblem, reasonOf } from "../../errors.ts";
import type { Host } from "../../host/host.ts";

/**
 * Creates the directory of a file that is written at the end. Throws usage before anything is sent if
 * the path is invalid; `label` names it, e.g. `--junit r.xml`.
 */
export async function prepareOutput(label: string, path: string, { files }: Host): Promise<void> {
  const failed = (reason: string, cause?: unknown) =>
    new CliError(diskProblem(cause)?.kind ?? "usage", `${label}: ${reason}`, {
      sideEffect: "none",
      cause,
    });
  if ((await files.stat(path))?.isDirectory) throw failed("this is a directory");
  await files.makeDirectory(dirname(path)).catch((error: unknown) => {
    const problem = diskProblem(error);
    throw problem ? failed(problem.reason, error) : error;
  });
}

/** Prepares the files of several flags, by their parameters: `{ junit: "r.xml" }`. */
export async function prepareOutputs(
  paths: Readonly<Record<string, string | undefined>>,
  host: Host,
): Promise<void> {
  for (const [name, path] of Object.entries(paths))
    if (path !== undefined) await prepareOutput(`--${name} ${path}`, path, host);
}

/** Writes the file at the end. Throws failure, after the result is printed, if that is impossible. */
export const writeOutput = (
  flag: string,
  path: string,
  text: string,
  { files }: Host,
): Promise<void> =>
  files.writeAtomic(path, text).catch((cause: unknown) => {
    throw new CliError("failure", `${flag}: failed to write ${path}: ${reasonOf(cause)}`, {
      cause,
      isResult: true,
    });
  });
