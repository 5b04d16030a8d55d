import { commandLine } from "../../../lib/command-line.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import { isEnded, isSuccess } from "../../../runs/outcome.ts";
import { outdatedNotice } from "../../../follow/run-state.ts";
import { loadRun, readRunState, shownRecord } from "../runs/index.ts";
import { noticeForms } from "../forms/index.ts";
import type { Context } from "../../task/command-spec.ts";

/** Yields the record of a run; prints what it does not show: a later end, failed nodes, open forms. */
export async function* run(
  { workflow_run_id }: { readonly workflow_run_id: string },
  context: Context,
): AsyncGenerator<WorkflowRun> {
  const state = await readRunState(workflow_run_id, context);
  yield shownRecord(state, context);
  if (state.outdated) await context.notice(outdatedNotice(workflow_run_id, state));
  const { status } = state.record;
  if (status === "failed" || status === "partial-succeeded")
    await noticeNodes(workflow_run_id, context);
  if (status === "paused") await noticeForms(workflow_run_id, context);
  const { terminal, format } = context.options;
  if (isEnded(state.status) && !isSuccess(state.status) && terminal && format === undefined)
    await context.notice(`run it again: ${commandLine("wf retry", [workflow_run_id])}`);
}

/** Says at which nodes a run failed, or how to learn it the next time: its record has no nodes. */
async function noticeNodes(runId: string, context: Context): Promise<void> {
  const { failures = [], recording } = await loadRun(runId, context);
  for (const { node, error } of failures) await context.notice(`node ${node} failed: ${error}`);
  const exists = recording !== undefined && (await context.host.files.stat(recording)) !== null;
  if (exists) {
    await context.notice(`its nodes are recorded: ${commandLine("wf timeline", [recording])}`);
  } else if (failures.length === 0) {
    await context.notice(
      `the nodes of a finished run are only known from a recording: ${commandLine("wf run", [], { record: "FILE" })}`,
    );
  }
}
