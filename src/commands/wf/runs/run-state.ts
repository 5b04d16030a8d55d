import type { CallOptions } from "../../../api/calls.ts";
import { getWorkflowRun } from "../../../operations/workflows.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import { loadRunEnd } from "./task-ids.ts";
import { isEnded } from "../../../runs/status.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";

/** Current state of a run. */
export interface RunState extends RunOutcome {
  /** The server's record, unchanged. */
  readonly record: WorkflowRun;
  /** Whether the record still shows a run as running whose end was seen on this machine. */
  readonly outdated: boolean;
}

/**
 * Reads the record of a run. On some servers the record of a stopped run shows `running` forever, and
 * only the event stream reports the end (server §13): if this machine saw it, that end is used.
 */
export async function readRunState(
  workflow_run_id: string,
  context: Context,
  options?: CallOptions,
): Promise<RunState> {
  const record = await context.api.call(getWorkflowRun, { workflow_run_id }, options);
  const { status, error } = record;
  const end = isEnded(status) ? undefined : await loadRunEnd(workflow_run_id, context);
  return end === undefined || status === "paused"
    ? { status, error, record, outdated: false }
    : { ...end, record, outdated: true };
}

/** Explains an outdated record. */
export const outdatedNotice = (runId: string, { status, record }: RunState): string =>
  `run ${runId} ended with status ${status}, as its event stream reported; its record still shows ${record.status}`;
