import { commandLine } from "../lib/command-line.ts";
import { isObject, jsonOrText } from "../lib/json.ts";
import type { Checked } from "./operation.ts";
import {
  body,
  events,
  joinTexts,
  wfOperation,
  page,
  path,
  query,
  withFields,
  record,
  within,
} from "./operation.ts";
import {
  blocking,
  listOf,
  required,
  stops,
  streaming,
  userInBody,
  userInQuery,
  workflow_run_id,
} from "./shared.ts";

/** Status of a run; the first four are final (server §7). */
export type RunStatus =
  | "succeeded"
  | "failed"
  | "stopped"
  | "partial-succeeded"
  | "running"
  | "paused"
  | "scheduled";

/** A run as stored by the server. */
export interface WorkflowRun {
  readonly id: string;
  readonly status: RunStatus;
  readonly error: string | null;
  /** JSON text, with the `sys.` variables that the server added. */
  readonly inputs: string | null;
  /** Empty while the run is active; JSON text from servers such as 1.12.1. */
  readonly outputs: Readonly<Record<string, unknown>> | string | null;
  /** In seconds; only of the last segment if the run was resumed (server §13). */
  readonly elapsed_time: number | null;
  /** Unix seconds. */
  readonly created_at: number;
}

/** The inputs of a run: those of its application, or those that the server adds, `sys.files` and others. */
function inputsOf(run: WorkflowRun, of: "application" | "system"): unknown {
  const isSystem = of === "system";
  const inputs = run.inputs === null ? null : jsonOrText(run.inputs);
  if (!isObject(inputs)) return isSystem ? null : inputs;
  const own = Object.entries(inputs).filter(([name]) => name.startsWith("sys.") === isSystem);
  return Object.fromEntries(own);
}

const inputs = body.json("Values of the application's inputs by name", {
  required,
  shape: { kind: "object" },
});
const files = body.json("Input files: [{type, transfer_method, upload_file_id}]", {
  shape: listOf({
    type: { kind: "text", required, choices: ["image", "document", "audio", "video", "custom"] },
    transfer_method: { kind: "text", required, choices: ["remote_url", "local_file"] },
    url: { kind: "text" },
    upload_file_id: { kind: "text" },
  }),
});

const newest = {
  id: "executeWorkflow",
  action: "run workflow",
  route: "POST /workflows/run",
  params: { inputs, files, user: userInBody },
} as const;

const chosen = {
  ...newest,
  id: "runWorkflowById",
  route: "POST /workflows/{workflow_id}/run",
  params: {
    workflow_id: path.text("Published version of the workflow"),
    ...newest.params,
  },
} as const;

// The request succeeds for failed and paused runs, too (server §13).
const waiting = {
  ...blocking,
  returns: withFields(
    { workflow_run_id: "id", data: { status: "text", "error?": "text" } },
    record<{ readonly data: { readonly paused_nodes?: readonly string[] } }>(
      ...within(
        "data",
        "status outputs error elapsed=elapsed_time:seconds tokens=total_tokens:count",
        "steps=total_steps:count started=created_at:time",
      ),
      "run=workflow_run_id:id ... finished=data.finished_at:time",
      "task_id workflow_id=data.workflow_id",
      ["paused_nodes", ({ data }) => joinTexts(data.paused_nodes)],
    ),
  ),
} as const;

export const runWorkflow = wfOperation({ ...newest, ...streaming });
export const runWorkflowBlocking = wfOperation({ ...newest, ...waiting });
export const runWorkflowById = wfOperation({ ...chosen, ...streaming });
export const runWorkflowByIdBlocking = wfOperation({ ...chosen, ...waiting });

export const getWorkflowRun = wfOperation({
  id: "getWorkflowRunDetail",
  action: "get run {run}",
  route: "GET /workflows/run/{workflow_run_id}",
  params: { workflow_run_id },
  knownErrors: [
    {
      message: "Workflow run not found",
      kind: "not-found",
      hint: `a run is found only with the key of its application (--app): ${commandLine("wf logs")} shows those of this one`,
    },
  ],
  returns: withFields(
    { status: "text", "error?": "text", "inputs?": "text" },
    record<WorkflowRun>(
      "status error:sparse outputs elapsed=elapsed_time:seconds tokens=total_tokens:count",
      "steps=total_steps:count started=created_at:time finished=finished_at:time id:id",
      ["inputs", (run) => inputsOf(run, "application")],
      "...",
      ["system_inputs", (run) => inputsOf(run, "system")],
      "workflow_id",
    ),
  ),
});

export const stopWorkflowRun = wfOperation({
  id: "stopWorkflowTaskGeneration",
  route: "POST /workflows/tasks/{task_id}/stop",
  params: {
    task_id: path.text("Task ID from the run's events", { placeholder: "task" }),
    user: userInBody,
  },
  // Reports success for any task: only the run shows whether it stopped (server §13).
  ...stops,
});

export const streamRunEvents = wfOperation({
  id: "streamWorkflowEvents",
  action: "get events of runs {run}",
  route: "GET /workflow/{workflow_run_id}/events",
  params: {
    workflow_run_id,
    include_state_snapshot: query.flag("Start with the events so far", {
      serverDefault: "false",
    }),
    continue_on_pause: query.flag("Stay connected while the run is paused", {
      serverDefault: "false",
    }),
    user: userInQuery,
  },
  returns: events,
  idleTimeout: 45,
  since: "1.14.0",
});

const logFields = {
  id: "id",
  created_at: "time",
  "workflow_run?": {
    id: "id",
    "status?": "text",
    "error?": "text",
    "version?": "text",
    "elapsed_time?": "number",
    "total_tokens?": "number",
    "total_steps?": "number",
    "created_at?": "time",
    "finished_at?": "time",
    "exceptions_count?": "number",
  },
  "created_by_account?": { email: "text" },
  "created_by_end_user?": { session_id: "text" },
} as const;

/** An entry of the log. Its ID is not that of the run, which is null once purged (server §12). */
export type WorkflowLog = Checked<typeof logFields>;

export const listWorkflowLogs = wfOperation({
  id: "getWorkflowLogs",
  action: "list runs",
  route: "GET /workflows/logs",
  params: {
    keyword: query.text("Only runs with this text (30 characters) or run ID", {
      meant: ["--filter", "--grep"],
    }),
    status: query.choice(["succeeded", "failed", "stopped"], "Only runs with this status"),
    created_at__after: query.time("Only runs since this time", {
      flag: "since",
    }),
    created_at__before: query.time("Only runs until this time", {
      flag: "until",
    }),
    // Together with a keyword, the server responds with 500 (server §12).
    created_by_end_user_session_id: query.text("Only runs of this end user", {
      flag: "end-user",
    }),
    created_by_account: query.text("Only runs of the account with this email", {
      flag: "account",
    }),
  },
  returns: withFields(
    logFields,
    page<WorkflowLog>(
      ...within(
        "workflow_run",
        "started=created_at:time status elapsed=elapsed_time:seconds",
        "error=error:sparse tokens=total_tokens:count steps=total_steps:count run=id:id",
      ),
      ["by", (log) => log.created_by_end_user?.session_id ?? log.created_by_account?.email],
      ...within(
        "workflow_run",
        "... exceptions=exceptions_count finished=finished_at:time version triggered_from",
      ),
      "created_from log=id",
    ),
  ),
});
