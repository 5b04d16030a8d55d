import { usage } from "../../../errors.ts";
import { getAppInfo } from "../../../operations/apps.ts";
import { local, query, record, textIn, withNamePath } from "../../../operations/operation.ts";
import type { Input } from "../../../operations/operation.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../../operations/workflows.ts";
import type { FieldKind } from "../../conditions/index.ts";
import { task } from "../../task/command-spec.ts";
import { otlpParams } from "../otlp/index.ts";

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
    { placeholder: "condition", many: true, names: Object.keys(logFields) },
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
export const isSentStatus = (
  status: LogFilters["status"],
): status is (typeof statusParam.choices)[number] =>
  statusParam.choices.some((choice) => choice === status);

export const logsParams = {
  ...logFilters,
  follow: local.flag("Keep printing new runs", { short: "F" }),
};

export const workflowLogs = task({
  command: "wf logs",
  tool: { without: ["follow"] },
  meant: ["list", "runs"],
  summary: "List the runs of the workflow, newest first",
  about:
    "--follow polls for new runs every 2 seconds and prints them oldest first: each run when it appears,\nand again when its status changes. It starts with the newest 20 (--limit), or all since --since; json\nand --jq then handle one run at a time.",
  params: logsParams,
  output: ({ follow }, format) => (follow && format === "json" ? oneLog : undefined),
  pages: true,
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["cut"],
  examples: [
    "wf logs --failed --since yesterday",
    "wf logs --keyword hello --all -o jsonl",
    "wf logs --since today --all --where 'elapsed>20s' --where 'error~timeout'",
    "wf logs --follow -o jsonl",
  ],
});

export const logsExportParams = {
  target: local.text("File or directory to write to (with -o otlp also - for stdout)", {
    length: [1, 4096],
  }),
  ...logFilters,
  state: local.text("File with the position of the next export; --since applies to the first", {
    placeholder: "file",
    length: [1, 4096],
  }),
  overwrite: local.flag("Overwrite an existing file"),
  with_detail: local.flag("Include inputs and outputs (one request per run)"),
  ...otlpParams,
};

export const workflowLogsExport = task({
  command: "wf logs export [target]",
  action: "export runs to {target}",
  summary: "Export the runs of the workflow to a file, each once",
  about:
    "A target that ends in .jsonl or .csv is a file; any other is a directory that gets one file per\nexport, named by its end time (CSV with -o csv). The file appears when it is complete, newest run\nfirst. After an interruption, the same command continues.\n\nWith --state, the next export continues where this one ended: a file is appended to, a directory gets\na new file. Unfinished runs are written once they have ended.\n\n-o otlp writes traces, one per line; --otlp sends them, with or without a target. Nodes have spans only\nfor runs that were recorded on this machine.",
  parallel: true,
  params: logsExportParams,
  returns: {
    ...withNamePath("file", record("rows read refetched missing waiting running file since until")),
    texts: ["otlp"],
  },
  output: ({ target = "-" }, format) =>
    format === "otlp" && target === "-" ? textIn(format) : undefined,
  sends: [getWorkflowRun, getAppInfo],
  wraps: listWorkflowLogs,
  effect: "reads",
  runsToEnd: true,
  exits: ["partial"],
  examples: [
    "wf logs export runs.jsonl --since 30d",
    "wf logs export runs.csv --status failed --with-detail",
    "wf logs export runs --state runs.state",
    "wf logs export -o otlp --since 1h",
  ],
});

const oneLog = record(...listWorkflowLogs.returns.columns);
