export { changeNames, simulateChange } from "./chances.ts";
export type { AppChange, PlannedSuite } from "./chances.ts";
