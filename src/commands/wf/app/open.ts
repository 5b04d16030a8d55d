import { CliError } from "../../../errors.ts";
import type { Input } from "../../../operations/operation.ts";
import { getWorkflowRun } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import { openPage } from "../../task/open-page.ts";
import { appIdOf, applicationOf } from "./application.ts";
import type { workflowOpenParams } from "./command.ts";

/** `wf open`: the page of the application, or of its logs for a run. */
export async function* run(
  { workflow_run_id, print }: Input<typeof workflowOpenParams>,
  context: Context,
): AsyncGenerator<string> {
  const id =
    workflow_run_id === undefined
      ? await newestAppId(context)
      : appIdOf(await context.api.call(getWorkflowRun, { workflow_run_id }));
  if (id === null) {
    await context.notice(
      "the server does not report the application's ID; this is the list of all",
    );
  }
  const page = workflow_run_id === undefined ? "workflow" : "logs";
  yield* openPage(
    { kind: "app", path: id === null ? ["apps"] : ["app", id, page], print },
    context,
  );
}

/** The ID that the newest run shows; null for applications without runs or logs. */
async function newestAppId(context: Context): Promise<string | null> {
  try {
    return (await applicationOf(context, { withId: true })).id;
  } catch (error) {
    const isUnknown =
      error instanceof CliError && ["unsupported", "refused", "not-found"].includes(error.kind);
    if (isUnknown) return null;
    throw error;
  }
}
