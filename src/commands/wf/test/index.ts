export { historyOf } from "./history.ts";
export { readSavedResults } from "./saved-results.ts";
export { isJudged } from "./results.ts";
export type { TestResult } from "./results.ts";
export { questionsIn, questionsOf } from "./run-tests.ts";
export { holm, NORMAL_95, passRate, signTest, verdicts } from "./verdict/index.ts";
export type { FlakyVerdict } from "./verdict/index.ts";
export { observations, testHistories } from "./test-history.ts";
export type { TestHistory } from "./test-history.ts";
