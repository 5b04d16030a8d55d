import type { WorkflowRun } from "../../operations/workflows.ts";
import { outdatedNotice, readRunState } from "./run-state.ts";
import type { Context } from "../command-spec.ts";

/** Yields the record of a run; prints a notice if the record is outdated. */
export async function* run(
  { workflow_run_id }: { readonly workflow_run_id: string },
  context: Context,
): AsyncGenerator<WorkflowRun> {
  const state = await readRunState(workflow_run_id, context);
  yield state.record;
  if (state.outdated) await context.notice(outdatedNotice(workflow_run_id, state));
}
