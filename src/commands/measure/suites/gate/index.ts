export { isDoubtful, judgePairs } from "./against.ts";
export type { AskedPair } from "./against.ts";
export { changeNames, openSimulation } from "./chances.ts";
export type { AppChange, PlannedSuite } from "./chances.ts";
export { MIN_HISTORY } from "./count-runs.ts";
export {
  exitOf,
  findsDeadTest,
  isRedSuite,
  isRedTest,
  judge,
  mostFresh,
  secondLookRuns,
  usualRules,
} from "./gate.ts";
export type {
  ExitFlags,
  GateInput,
  GateRules,
  GateVerdict,
  KnownRuns,
  TestVerdict,
} from "./gate.ts";
export type { GateRun, TestNow } from "./match-tests.ts";
