/** What other features use of checks. */
export { listFindings } from "./documents.ts";
export { unindexed } from "./limits.ts";
