/** What other features use of checks. */
export { listFindings, unindexed } from "./documents.ts";
