export { checkKinds, usualSimilarity } from "./key-types.ts";
export type { CheckKind, CompareMode } from "./key-types.ts";
export { rowsInFile } from "./read-rows.ts";
export { filesIn, isRowFile, judgesOf, needsText, readSearches, readSuite } from "./read-suite.ts";
export type {
  Suite,
  SuiteContext,
  SuiteJudge,
  SuiteProgram,
  SuiteSchema,
  SuiteSearch,
  SuiteSupport,
  SuiteTest,
  SuiteTurn,
} from "./read-suite.ts";
