import { CliError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { getAppInfo } from "../../operations/apps.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../operations/workflows.ts";
import type { Context } from "../command-spec.ts";

/** An application, told apart from others without its key. */
export interface Application {
  readonly base_url: string;
  readonly name: string;
  /** Null where it was not asked for, or no run tells it. */
  readonly id: string | null;
}

/** The application that the key opens. No route gives its id, but the inputs of its runs do (server §13). */
export async function applicationOf(
  context: Context,
  { withId }: { readonly withId: boolean },
): Promise<Application> {
  const { name = "" } = await context.call(getAppInfo, {});
  const base_url = await context.baseUrl();
  return { base_url, name, id: withId ? await idOfNewestRun(context) : null };
}

/** Says why a log is empty where the application never has one (server §12). */
export async function tellUnlogged(context: Context): Promise<void> {
  const mode = await context.call(getAppInfo, {}).then(
    (info) => info.mode,
    () => undefined, // the list itself was read
  );
  if (mode === undefined || mode === "workflow" || context.signal.aborted) return;
  await context.notice(
    `only workflows have a log, and this is an application of mode ${mode}: its log is always empty`,
  );
}

async function idOfNewestRun(context: Context): Promise<string | null> {
  for await (const { workflow_run } of context.rows(listWorkflowLogs, {}, { limit: 1 })) {
    if (!workflow_run) return null;
    try {
      const run = await context.call(getWorkflowRun, { workflow_run_id: workflow_run.id });
      const inputs: unknown = JSON.parse(run.inputs ?? "{}");
      const id = isObject(inputs) ? inputs["sys.app_id"] : undefined;
      return typeof id === "string" ? id : null;
    } catch (error) {
      const purged = error instanceof CliError && error.kind === "not-found";
      if (!purged && !(error instanceof SyntaxError)) throw error;
    }
  }
  return null;
}
