export { readHistory } from "./history.ts";
export type { DatedResults } from "./history.ts";
export { readSavedResults } from "./saved-results.ts";
export { passRate } from "./statistics.ts";
export type { TestResult } from "./results.ts";
