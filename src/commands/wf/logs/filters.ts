import { usage } from "../../../errors.ts";
import { local, query } from "../../../operations/operation.ts";
import type { Input } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { FieldKind } from "../../conditions/index.ts";

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

const statusParam = listWorkflowLogs.params.status;

/** Statuses by which the server filters. */
export type SentStatus = (typeof statusParam.choices)[number];

/** Filters of commands that read logs. */
export const logFilters = {
  ...listWorkflowLogs.params,
  status: query.choice(
    [...statusParam.choices, "partial-succeeded", "running", "paused"],
    "Only runs with this status",
  ),
  failed: local.flag("Only failed runs (short for --status failed)"),
  where: local.text(
    `Only runs that match a condition on ${Object.keys(logFields).join(", ")}: 'elapsed>20s'`,
    { placeholder: "condition", many: true },
  ),
};

export type LogFilters = Input<typeof logFilters>;

/** The status of --status or --failed. Throws `usage` for both with different ones. */
export function statusFilter({ status, failed }: LogFilters): LogFilters["status"] {
  if (!failed) return status;
  if (status === undefined || status === "failed") return "failed";
  throw usage(`--failed cannot be used with --status ${status}`);
}

/** Whether the server filters by this status; it rejects others. */
export const isSentStatus = (status: LogFilters["status"]): status is SentStatus =>
  statusParam.choices.some((choice) => choice === status);
