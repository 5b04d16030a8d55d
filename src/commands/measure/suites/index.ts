export { readSavedResults } from "./saved-results.ts";
export { isJudged } from "./results.ts";
export type { TestResult } from "./results.ts";
export { questionsIn, questionsOf } from "./run-tests.ts";
