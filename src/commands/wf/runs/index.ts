export {
  following,
  readRunState,
  loadRun,
  pausedRuns,
  recordingPaths,
  recordOf,
  runOfForm,
  savedRuns,
  saveRun,
  shownRecord,
} from "./run-state.ts";
export type { NodeFailure } from "./run-state.ts";
export { chooseRun, inputsIn, shownInput, takenRuns } from "./choose-run.ts";
