import type { Scenario } from "../simulate.ts";
import { asIs } from "./as-is.ts";
import { backups } from "./backups.ts";
import { damages } from "./damage.ts";
import { each } from "./each.ts";
import { following } from "./following.ts";
import { logs } from "./logs.ts";
import { parallel } from "./parallel.ts";
import { rows } from "./rows.ts";
import { largeSite, site } from "./site.ts";
import { snapshot } from "./snapshot.ts";
import { state } from "./state.ts";
import { statuses } from "./statuses.ts";
import { sync } from "./sync.ts";
import { tests } from "./tests.ts";

/** All scenarios. */
export const scenarios: readonly Scenario[] = [
  sync,
  site,
  largeSite,
  each,
  snapshot,
  asIs,
  rows,
  backups,
  damages,
  statuses,
  state,
  logs,
  parallel,
  following,
  tests,
];
