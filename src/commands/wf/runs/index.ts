export { outdatedNotice, readRunState } from "./run-state.ts";
export type { RunState } from "./run-state.ts";
export { waitForRun } from "./wait.ts";
export { loadNodes, pausedRuns, savedRuns, saveRun } from "./task-ids.ts";
export type { NodeFailure } from "./task-ids.ts";
