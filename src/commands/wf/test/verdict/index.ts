export { verdictOf, verdicts } from "./flaky.ts";
export type { FlakyVerdict, Observation } from "./flaky.ts";
export { neededDesign, quantile, suitePower, testPower } from "./power.ts";
export type { Design } from "./power.ts";
export { countRepeats, mayBeCached } from "./repeats.ts";
export { holm, medianInterval, NORMAL_95, passRate, signTest } from "./statistics.ts";
export type { Interval, Passes, PassRate } from "./statistics.ts";
export { isDoubtful, judgeSuite, totalPasses } from "./verdict.ts";
export type { SuiteVerdict, TestPair, VerdictOptions } from "./verdict.ts";
