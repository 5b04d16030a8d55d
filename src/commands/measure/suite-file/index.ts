export { testContent } from "./content.ts";
export { checkKinds, usualSimilarity } from "./keys.ts";
export type { CheckKind, CompareMode } from "./keys.ts";
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
