import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LockHeld, type LockOwner, takeLock } from "../../host/lock.ts";

/**
 * Locks a directory for one process and returns the function that unlocks it. Removes the lock of a
 * dead owner; throws an Error that names the owner if it is alive.
 */
export function lockDirectory(directory: string, owner: LockOwner): () => void {
  mkdirSync(directory, { recursive: true });
  let release: () => void;
  try {
    release = takeLock(join(directory, "sandbox.pid"), owner);
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new Error(
      `directory ${directory} is in use by another sandbox (${error.holder}): ` +
        "stop it, or choose another directory",
    );
  }
  // A process that dies with the database open leaves SQLite's lock, a directory, behind.
  rmSync(join(directory, "sandbox.db.lock"), { recursive: true, force: true });
  return release;
}
