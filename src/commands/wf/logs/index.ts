export {
  hasEnded,
  isTransient,
  loggedRun,
  logOf,
  logQuery,
  runDetail,
  warnIfKeywordTruncated,
} from "./query.ts";
export type { LoggedRun, LogQuery } from "./query.ts";
export { logFields, logFilters, statusFilter } from "./command.ts";
export type { LogFilters } from "./command.ts";
