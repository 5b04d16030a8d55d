import { CliError } from "../errors.ts";
import type { Host } from "../host/host.ts";

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
    hint: "wait until it has finished, then check its output",
  });
}

/**
 * The same for a journal that a command can do without: on a full or read-only disk it locks nothing,
 * since writing the journal then fails, too.
 */
export async function lockJournal(path: string, busy: string, host: Host): Promise<() => void> {
  try {
    await host.files.makeDirectory(host.directories.state, 0o700);
    return await lockWork(path, busy, host);
  } catch (error) {
    if (error instanceof CliError) throw error; // locked, or interrupted
    return () => {};
  }
}
