export { usualSimilarity } from "./keys.ts";
export type { CompareMode } from "./keys.ts";
export { filesIn, isRowFile, readSearches, readSuite } from "./read-suite.ts";
export type { Suite, SuiteSearch, SuiteTest } from "./read-suite.ts";
export type { SuiteJudge, SuiteTurn } from "./turns.ts";
