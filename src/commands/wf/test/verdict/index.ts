export { holm, intervalText, medianInterval, NORMAL_95, passRate, signTest } from "./statistics.ts";
export type { Passes, PassRate } from "./statistics.ts";
export {
  countRepeats,
  isDoubtful,
  judgeSuite,
  mayBeCached,
  neededDesign,
  quantile,
  suitePower,
  testPower,
  totalPasses,
} from "./verdict.ts";
export type { Design, SuiteVerdict, TestPair, VerdictOptions } from "./verdict.ts";
