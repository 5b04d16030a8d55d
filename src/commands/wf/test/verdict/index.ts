export { neededDesign, suitePower, testPower } from "./power.ts";
export type { Design } from "./power.ts";
export { countRepeats, mayBeCached } from "./repeats.ts";
export { holm, medianInterval, passRate, signTest } from "./statistics.ts";
export type { Interval, Passes, PassRate } from "./statistics.ts";
export { isDoubtful, judgeSuite, MIN_HISTORY } from "./verdict.ts";
export type { PairVerdict, SuiteVerdict, TestPair, VerdictOptions } from "./verdict.ts";
