import type { WorkflowRun } from "../../operations/workflows.ts";
import { outdatedNotice, readRunState } from "./run-state.ts";
import type { Context } from "../command-spec.ts";

/** The record of a run as it is; a notice tells where the run is known to have ended otherwise. */
export async function* run(
  { workflow_run_id }: { readonly workflow_run_id: string },
  context: Context,
): AsyncGenerator<WorkflowRun> {
  const found = await readRunState(workflow_run_id, context);
  yield found.record;
  if (found.outdated) await context.notice(outdatedNotice(workflow_run_id, found));
}
