import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LockHeld, type LockOwner, takeLock } from "../../host/lock.ts";

/**
 * Takes a folder for one process and gives the function that lets it go. Clears what a dead owner
 * has left behind; throws an Error that names the owner when it is alive.
 */
export function lockDirectory(folder: string, owner: LockOwner): () => void {
  mkdirSync(folder, { recursive: true });
  let release: () => void;
  try {
    release = takeLock(join(folder, "sandbox.pid"), owner);
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new Error(
      `the folder ${folder} is in use by the sandbox with ${error.holder}: ` +
        "stop that one, or give this one another folder",
    );
  }
  // Whoever died with the database open has left its lock, a folder that never goes by itself.
  rmSync(join(folder, "sandbox.db.lock"), { recursive: true, force: true });
  return release;
}
