export { isTransient } from "./follow.ts";
export {
  hasEnded,
  loggedRun,
  logOf,
  logQuery,
  runDetail,
  warnIfKeywordTruncated,
} from "./query.ts";
export type { LoggedRun, LogQuery } from "./query.ts";
export { logFields, logFilters, statusFilter } from "./filters.ts";
export type { LogFilters } from "./filters.ts";
