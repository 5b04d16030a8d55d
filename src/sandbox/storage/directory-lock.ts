import { rmSync } from "node:fs";
import { join } from "node:path";
import { type LockOwner, takeLock } from "../../host/lock.ts";

/**
 * Locks an existing directory for one process and returns the function that unlocks it. Removes the lock of a
 * dead owner; throws an Error that names the owner if it is alive.
 */
export function lockDirectory(directory: string, owner: LockOwner): () => void {
  const lock = takeLock(join(directory, "sandbox.pid"), owner);
  if ("heldBy" in lock) {
    throw new Error(
      `directory ${directory} is in use by another sandbox (${lock.heldBy}): ` +
        `choose another directory, or ${lock.next}`,
    );
  }
  // A process that dies with the database open leaves SQLite's lock, a directory, behind.
  rmSync(join(directory, "sandbox.db.lock"), { recursive: true, force: true });
  return lock.release;
}
