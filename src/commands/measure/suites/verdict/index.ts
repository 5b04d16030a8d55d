export {
  countRepeats,
  isDoubtful,
  judgeSuite,
  mayBeCached,
  neededDesign,
  suitePower,
  testPower,
  totalPasses,
} from "./verdict.ts";
export type { Design, SuiteVerdict, TestPair, VerdictOptions } from "./verdict.ts";
