import { CliError } from "../errors.ts";
import type { Host } from "../host/host.ts";

/**
 * Locks a journal, so that no other command does the same work: `busy` names it, e.g. `another command
 * is sending these rows`. Throws failure if it is locked. On a full or read-only disk it locks nothing:
 * writing the journal then fails, too. Returns what releases the lock.
 */
export async function lockJournal(
  path: string,
  busy: string,
  { directories, files, process }: Host,
): Promise<() => void> {
  const lock = await files
    .makeDirectory(directories.state, 0o700)
    .then(() => files.lock(`${path}.lock`, process))
    .catch(() => ({ release: () => {} }));
  if ("release" in lock) return lock.release;
  throw new CliError("failure", `${busy}, ${lock.heldBy}`, {
    sideEffect: "none",
    hint: "wait until it has finished, then check its output",
  });
}
