import { commandLine } from "../../../lib/command-line.ts";
import { isEnded, isSuccess } from "../../../runs/outcome.ts";
import { outdatedNotice } from "../../../follow/run-state.ts";
import { savedRecordings } from "../recording/index.ts";
import { loadRun, readRunState, shownRecord } from "../runs/index.ts";
import { noticeForms } from "../forms/index.ts";
import { nodesOfRun } from "./nodes.ts";
import type { Context } from "../../task/command-spec.ts";

/** Yields the record of a run; prints what it does not show: a later end, failed nodes, open forms. */
export async function* run(
  {
    workflow_run_id,
    nodes,
  }: { readonly workflow_run_id: string; readonly nodes?: boolean | undefined },
  context: Context,
): AsyncGenerator<unknown> {
  if (nodes) return yield* nodesOfRun(workflow_run_id, context);
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
  const { failures = [] } = await loadRun(runId, context);
  for (const { node, error } of failures) await context.notice(`node ${node} failed: ${error}`);
  if (await (await savedRecordings(context)).load(runId)) {
    const show = commandLine("wf show", [runId], { nodes: true });
    await context.notice(`its nodes are on this machine: ${show}`);
  } else if (failures.length === 0) {
    await context.notice(
      `the nodes of a finished run are only known from a recording: ${commandLine("wf run", [], { record: "FILE" })}`,
    );
  }
}
