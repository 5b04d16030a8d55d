import { getWorkflowRun } from "../../operations/workflows.ts";
import type { WorkflowRun } from "../../operations/workflows.ts";
import { loadRunEnd } from "./task-ids.ts";
import { isEnded } from "../../runs/outcome.ts";
import type { RunOutcome } from "../../runs/outcome.ts";
import type { CallOptions, Context } from "../command-spec.ts";

/** How a run stands. */
export interface RunState extends RunOutcome {
  /** The server's record, as it is. */
  readonly record: WorkflowRun;
  /** Does the record say that it is running, although its end was seen here? */
  readonly outdated: boolean;
}

/**
 * Reads the record of a run. On some servers that of a stopped run says `running` for ever, and only
 * the live stream told the end (server §13): where this machine saw it, that counts.
 */
export async function readRunState(
  workflow_run_id: string,
  context: Context,
  options?: CallOptions,
): Promise<RunState> {
  const record = await context.call(getWorkflowRun, { workflow_run_id }, options);
  const { status, error } = record;
  const end = isEnded(status) ? undefined : await loadRunEnd(workflow_run_id, context);
  return end === undefined || status === "paused"
    ? { status, error, record, outdated: false }
    : { ...end, record, outdated: true };
}

/** What is told of a run whose record is outdated. */
export const outdatedNotice = (runId: string, { status, record }: RunState): string =>
  `run ${runId} ended as ${status}, as its event stream info; its record still says ${record.status}`;
