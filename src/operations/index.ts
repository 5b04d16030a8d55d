import { kbOperations } from "./kb.ts";
import { wfOperations } from "./wf.ts";
import type { AnyOperation } from "./operation.ts";

/** Every row of the table. */
export const operations: readonly AnyOperation[] = [...kbOperations, ...wfOperations];
