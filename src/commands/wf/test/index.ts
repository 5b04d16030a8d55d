export { historyOf } from "./history.ts";
export type { DatedResults } from "./history.ts";
export { readSavedResults } from "./saved-results.ts";
export { savedSuites } from "./saved-run.ts";
export { isJudged } from "./results.ts";
export type { TestResult } from "./results.ts";
export { questionsIn, questionsOf } from "./run-tests.ts";
export { holm, NORMAL_95, passRate, signTest } from "./verdict/index.ts";
