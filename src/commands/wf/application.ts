import { CliError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { getAppInfo } from "../../operations/apps.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../operations/workflows.ts";
import type { Context } from "../command-spec.ts";

/** Identifies an application without its key. */
export interface Application {
  readonly base_url: string;
  readonly name: string;
  /** Null if not requested, or if no run has it. */
  readonly id: string | null;
}

/** The application of the key. Only the inputs of its runs have its ID (server §13). */
export async function applicationOf(
  context: Context,
  { withId }: { readonly withId: boolean },
): Promise<Application> {
  const { name = "" } = await context.call(getAppInfo, {});
  const base_url = await context.baseUrl();
  return { base_url, name, id: withId ? await readAppId(context) : null };
}

/** Prints a notice if the application never has logs (server §12). */
export async function warnIfUnlogged(context: Context): Promise<void> {
  const mode = await context.call(getAppInfo, {}).then(
    (info) => info.mode,
    () => undefined, // the log itself was readable
  );
  if (mode === undefined || mode === "workflow" || context.signal.aborted) return;
  await context.notice(`only workflows have logs; this application has mode ${mode}`);
}

/** Reads the ID from the newest run. */
async function readAppId(context: Context): Promise<string | null> {
  for await (const { workflow_run } of context.rows(listWorkflowLogs, {}, { limit: 1 })) {
    if (!workflow_run) return null;
    try {
      const run = await context.call(getWorkflowRun, { workflow_run_id: workflow_run.id });
      const inputs: unknown = JSON.parse(run.inputs ?? "{}");
      const id = isObject(inputs) ? inputs["sys.app_id"] : undefined;
      return typeof id === "string" ? id : null;
    } catch (error) {
      const isPurged = error instanceof CliError && error.kind === "not-found";
      if (!isPurged && !(error instanceof SyntaxError)) throw error;
    }
  }
  return null;
}
