import { dirname, join } from "node:path";
import { CliError, codeOf, diskProblem, reasonOf, usage } from "../../errors.ts";
import { isUnfinished } from "../../host/host.ts";
import type { Files, Host } from "../../host/host.ts";
import { missingPathHint } from "../../lib/did-you-mean.ts";
import { isOn } from "../../lib/environment.ts";
import type { JournalFiles } from "../../lib/journal.ts";

/**
 * Locks what a command works on, so that no other command does the same work: `busy` names it, e.g.
 * `another command is sending these rows`. Throws failure if it is locked, and the system error if its
 * directory takes no lock. Returns what releases the lock.
 */
export async function lockWork(
  path: string,
  busy: string,
  { files, process }: Host,
): Promise<() => void> {
  const lock = await files.lock(`${path}.lock`, process);
  if ("release" in lock) return lock.release;
  throw new CliError("failure", `${busy}, ${lock.heldBy}`, {
    sideEffect: "none",
    hint: `${lock.next}, then check its output`,
  });
}

/** Removes the files below a locked directory that a kill has left unfinished, but none that is to be kept. */
export async function removeUnfinished(
  directory: string,
  files: Files,
  isKept: (path: string) => boolean = () => false,
): Promise<void> {
  for (const { name, isDirectory, isFile } of await files.entries(directory)) {
    const path = join(directory, name);
    if (isDirectory) await removeUnfinished(path, files, isKept);
    else if (isFile && isUnfinished(name) && !isKept(path)) await files.remove(path);
  }
}

/** What a command that writes a journal works with. */
export interface LockedJournal {
  readonly release: () => void;
  readonly files: JournalFiles;
}

/**
 * The same for a journal, which a command can do without: if its directory takes no lock, as on a full or
 * read-only disk, the journal can be read, but not written, because another command may write it. Without `isLocked`,
 * as in a dry run, it is only read.
 */
export async function lockJournal(
  path: string,
  busy: string,
  host: Host,
  isLocked = true,
): Promise<LockedJournal> {
  const { directories, files } = host;
  if (!isLocked) return { release: () => {}, files };
  try {
    await files.makeDirectory(directories.state, 0o700);
    return { release: await lockWork(path, busy, host), files };
  } catch (error) {
    if (error instanceof CliError) throw error; // locked, or interrupted
    return {
      release: () => {},
      files: {
        read: files.read,
        stat: files.stat,
        append: () => Promise.reject(error as Error), // of the system
        remove: () => Promise.resolve(),
      },
    };
  }
}

/** Reads a file that was named. Throws usage, with `label` before its path, if that is impossible. */
export const readInput = (path: string, { files }: Host, label = ""): Promise<Uint8Array> =>
  files.read(path).catch(async (cause: unknown) => {
    const problem = diskProblem(cause);
    if (!problem) throw cause;
    const hint = codeOf(cause) === "ENOENT" ? await missingPathHint(path, files) : undefined;
    throw usage(`${label}${path}: ${problem.reason}`, hint);
  });

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
  if ((await files.stat(path))?.isDirectory) throw failed("is a directory");
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

/** Throws usage for a file that others can change, whose programs are not run therefore. */
export function requireTrusted(path: string, programs: string, { files, env }: Host): void {
  const part = files.untrustedPart(path);
  if (part === undefined || isOn(env["KB_TRUST_FILES"])) return;
  const why = `others can change the file: ${part.path} ${part.reason}`;
  throw usage(
    `${path}: ${programs} were not run, because ${why}`,
    "if only you can change it all the same, as in some containers, set KB_TRUST_FILES=1",
  );
}
