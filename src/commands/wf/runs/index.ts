export {
  outdatedNotice,
  readRunState,
  loadRun,
  pausedRuns,
  savedRuns,
  saveRun,
} from "./run-state.ts";
export type { RunState, NodeFailure } from "./run-state.ts";
export { waitForRun } from "./wait.ts";
