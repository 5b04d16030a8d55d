import { local } from "../../operations/operation.ts";
import type { Input } from "../../operations/operation.ts";
import { listWorkflowLogs } from "../../operations/workflows.ts";
import type { FieldKind } from "../conditions/index.ts";

/** Columns of `wf logs` that --where accepts, and their kinds. */
export const logFields = {
  status: "text",
  elapsed: "seconds",
  tokens: "number",
  steps: "number",
  exceptions: "number",
  error: "text",
  by: "text",
  version: "text",
  triggered_from: "text",
  created_from: "text",
} as const satisfies Readonly<Record<string, FieldKind>>;

/** Filters of commands that read logs. */
export const logFilters = {
  ...listWorkflowLogs.params,
  where: local.text(
    `Only runs that match a condition on ${Object.keys(logFields).join(", ")}: 'elapsed>20s'`,
    { many: true },
  ),
};

export type LogFilters = Input<typeof logFilters>;
