/** What other features use of backups. */
export { allSnapshots, snapshotById } from "./find.ts";
export { openBackup, readManifestOf } from "./store.ts";
export { takeSnapshot } from "./take.ts";
