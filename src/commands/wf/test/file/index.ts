export { checkKinds, usualSimilarity } from "./key-types.ts";
export type { CheckKind, CompareMode } from "./key-types.ts";
export { rowsInFile } from "./read-rows.ts";
export { filesIn, isRowFile, readSearches, readSuite } from "./read-suite.ts";
export type {
  PassRule,
  Quarantine,
  Suite,
  SuiteBudget,
  SuiteSearch,
  SuiteTest,
} from "./read-suite.ts";
export { judgesOf, needsText } from "./turns.ts";
export type {
  SuiteContext,
  SuiteJudge,
  SuiteProgram,
  SuiteSchema,
  SuiteSupport,
  SuiteTurn,
} from "./turns.ts";
