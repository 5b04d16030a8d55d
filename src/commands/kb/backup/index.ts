/** What other features use of backups. */
export { allSnapshots } from "./snapshots.ts";
export { openBackup, readManifestOf } from "./store.ts";
export { takeSnapshot } from "./backup.ts";
