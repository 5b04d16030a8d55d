import type { Scenario } from "../simulate.ts";
import { each } from "./each.ts";
import { following } from "./following.ts";
import { governor } from "./governor.ts";
import { logs } from "./logs.ts";
import { sync } from "./sync.ts";
import { tests } from "./tests.ts";

/** All scenarios. */
export const scenarios: readonly Scenario[] = [sync, each, logs, governor, following, tests];
