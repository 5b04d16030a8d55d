export { usualSimilarity } from "./keys.ts";
export type { CompareMode } from "./keys.ts";
export { isRowFile } from "./read-rows.ts";
export { filesIn, readSearches, readSuite } from "./read-suite.ts";
export type {
  PassRule,
  Quarantine,
  Suite,
  SuiteJudge,
  SuiteSearch,
  SuiteTest,
  SuiteTurn,
} from "./read-suite.ts";
