export {
  outdatedNotice,
  readRunState,
  loadRun,
  pausedRuns,
  runOfForm,
  savedRuns,
  saveRun,
} from "./run-state.ts";
export type { RunState, NodeFailure } from "./run-state.ts";
export { waitForRun } from "./wait.ts";
export { chooseRun, inputsIn, shownInput } from "./choose-run.ts";
