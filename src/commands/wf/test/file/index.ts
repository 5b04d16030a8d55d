export { usualSimilarity } from "./keys.ts";
export type { CompareMode } from "./keys.ts";
export { filesIn, isRowFile, readSearches, readSuite } from "./read-suite.ts";
export type { Suite, SuiteSearch, SuiteTest } from "./read-suite.ts";
export { judgesOf } from "./turns.ts";
export type { SuiteContext, SuiteJudge, SuiteSupport, SuiteTurn } from "./turns.ts";
