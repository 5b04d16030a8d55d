export {
  outdatedNotice,
  readRunState,
  loadRun,
  pausedRuns,
  runOfForm,
  savedRuns,
  saveRun,
  waitForRun,
} from "./run-state.ts";
export type { RunState, NodeFailure } from "./run-state.ts";
export { chooseRun, inputsIn, shownInput } from "./choose-run.ts";
