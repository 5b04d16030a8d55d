export { changeNames, isRed } from "./chances.ts";
export type { AppChange, PlannedSuite } from "./chances.ts";
