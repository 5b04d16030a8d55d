/** What other features use of backups. */
export { allSnapshots, snapshotById } from "./find.ts";
export { openBackup, readManifestOf } from "./store.ts";
export { lacksOf, takeSnapshot } from "./take.ts";
export type { Taken } from "./take.ts";
