export { openKeeper } from "./keep-recordings.ts";
export type { Keeper } from "./keep-recordings.ts";
export { planRuns, readSelected, selectedTests, testNameOf } from "./plan-runs.ts";
export type { PlannedRun, RunPlan, SelectedSuites } from "./plan-runs.ts";
export {
  TestBoard,
  isExcused,
  isJudged,
  problemsOf,
  quarantined,
  testResult,
  testResults,
} from "./results.ts";
export type { SuiteOutcome, TestResult } from "./results.ts";
export { openRunJournal } from "./run-journal.ts";
export type { RunJournal } from "./run-journal.ts";
export {
  askedTurn,
  checkLimits,
  judgedChecks,
  overBudget,
  questionsIn,
  questionsOf,
  runTest,
  testNotRun,
} from "./run-tests.ts";
