export { usualSimilarity } from "./keys.ts";
export type { CheckKind, CompareMode } from "./keys.ts";
export { filesIn, isRowFile, readSearches, readSuite } from "./read-suite.ts";
export type { Suite, SuiteBudget, SuiteSearch, SuiteTest } from "./read-suite.ts";
export { judgesOf } from "./turns.ts";
export type {
  SuiteContext,
  SuiteJudge,
  SuiteProgram,
  SuiteSchema,
  SuiteSupport,
  SuiteTurn,
} from "./turns.ts";
