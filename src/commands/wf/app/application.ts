import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import type { Input, ResponseOf } from "../../../operations/operation.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import { openPage } from "../../task/open-page.ts";
import { recordOf } from "../runs/index.ts";
import type { workflowOpenParams } from "./command.ts";

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
  const { name = "" } = await context.api.call(getAppInfo, {});
  const base_url = await context.api.baseUrl();
  return { base_url, name, id: withId ? await readAppId(context) : null };
}

/** The same without the ID, for a name beside other output; undefined if it cannot be read. */
export const knownApplication = (context: Context): Promise<Application | undefined> =>
  applicationOf(context, { withId: false }).catch((error: unknown) => {
    if (error instanceof CliError && !context.host.signal.aborted) return undefined;
    throw error;
  });

/** The kinds of applications that commands need, and what other commands are for. */
const kinds = {
  workflow: {
    noun: "a workflow",
    modes: /^workflow$/,
    hint: `run workflows: ${commandLine("wf run")}`,
  },
  chat: {
    noun: "a chat",
    modes: /chat$|^agent$/,
    hint: `send messages to chat applications: ${commandLine("wf chat send", ["hello"])}`,
  },
  completion: {
    noun: "a text generation application",
    modes: /^completion$/,
    hint: `generate text: ${commandLine("wf text create", [], { query: "hello" })}`,
  },
};

/** Whether an application of this mode takes messages. */
export const isChatMode = (mode: string): boolean => kinds.chat.modes.test(mode);

/** Throws `unsupported` if the key belongs to an application of another kind. */
export async function requireKind(kind: keyof typeof kinds, context: Context): Promise<void> {
  const { mode } = await context.api.call(getAppInfo, {});
  const { noun, modes } = kinds[kind];
  if (mode === undefined || modes.test(mode)) return;
  const hint = Object.values(kinds).find((each) => each.modes.test(mode))?.hint;
  throw new CliError(
    "unsupported",
    `the key belongs to an application of mode ${mode}, not ${noun}`,
    { sideEffect: "none", hint },
  );
}

/** Prints a notice if the application never has logs (server §12). */
export async function warnIfUnlogged(context: Context): Promise<void> {
  const mode = await context.api.call(getAppInfo, {}).then(
    (info) => info.mode,
    () => undefined, // the log itself was readable
  );
  if (mode === undefined || mode === "workflow" || context.host.signal.aborted) return;
  await context.notice(`only workflows have logs; this application has mode ${mode}`);
}

/** Reads the ID from the newest run. */
async function readAppId(context: Context): Promise<string | null> {
  for await (const { workflow_run } of context.api.rows(listWorkflowLogs, {}, { limit: 1 })) {
    const record = workflow_run && (await recordOf(workflow_run.id, context));
    if (record) return appIdOf(record);
  }
  return null;
}

/** ID of the application of a run, from the inputs that the server added; null if it added none. */
export function appIdOf({ inputs }: WorkflowRun): string | null {
  const values = tryParseJson(inputs ?? "");
  const id = isObject(values) ? values["sys.app_id"] : undefined;
  return typeof id === "string" ? id : null;
}

/** `wf app info`: the application with its input form; only a notice if the form cannot be read. */
export const info = {
  async *run(_input: object, context: Context): AsyncGenerator<ResponseOf<typeof getAppInfo>> {
    const found = await context.api.call(getAppInfo, {});
    const form = context.api.call(getAppParameters, {}).then(
      ({ user_input_form }) => ({ user_input_form }),
      async (error: unknown) => {
        if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
        await context.notice(`its inputs are unknown: ${error.message}`);
        return {};
      },
    );
    yield { ...found, ...(await form) };
  },
};

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
