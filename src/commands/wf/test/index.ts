export { readHistory } from "./history.ts";
export type { DatedResults } from "./history.ts";
export { readSavedResults } from "./saved-results.ts";
export type { TestResult } from "./results.ts";
export { holm, passRate, signTest } from "./verdict/index.ts";
