import type { Scenario } from "../simulate.ts";
import { sync } from "./sync.ts";

/** All scenarios. */
export const scenarios: readonly Scenario[] = [sync];
