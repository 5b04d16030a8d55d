import { kbOperations } from "./of-kb.ts";
import { wfOperations } from "./of-wf.ts";
import type { AnyOperation } from "./operation.ts";

/** Every row of the table. */
export const operations: readonly AnyOperation[] = [...kbOperations, ...wfOperations];
