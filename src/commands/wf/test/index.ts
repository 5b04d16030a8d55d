export { readSavedResults } from "./saved-results.ts";
export { isJudged } from "./results.ts";
export type { TestResult } from "./results.ts";
export { questionsIn, questionsOf } from "./run-tests.ts";
export { holm, intervalText, NORMAL_95, passRate, signTest } from "./verdict/index.ts";
