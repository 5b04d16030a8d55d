export { isTransient } from "./follow.ts";
export { hasEnded, logOf, logQuery, runDetail, warnIfKeywordTruncated } from "./query.ts";
export type { LogQuery } from "./query.ts";
export { logsOfFile } from "./read-file.ts";
export type { FiledLog } from "./read-file.ts";
export { loggedRun } from "./run-row.ts";
export type { LoggedRun } from "./run-row.ts";
