export { isJudged, questionsIn, questionsOf } from "./runs/index.ts";
export type { TestResult } from "./runs/index.ts";
export { readSavedResults } from "./saved-results.ts";
