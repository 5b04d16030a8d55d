export { countRepeats, isDoubtful, judgeSuite, mayBeCached } from "./verdict.ts";
export type { SuiteVerdict, TestPair, VerdictOptions } from "./verdict.ts";
