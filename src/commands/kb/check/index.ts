/** What other features use of checks. */
export { listFindings, unindexed } from "./findings.ts";
