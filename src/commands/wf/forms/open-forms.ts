import { timeOf } from "../../../api/time-windows.ts";
import { CliError, ApiError } from "../../../errors.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { eachEvent } from "../../../api/sse.ts";
import { listWorkflowLogs, streamRunEvents } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { EventFields } from "../../../lib/server-event.ts";
import type { Context } from "../../task/command-spec.ts";
import { openStream } from "../follow/index.ts";
import { pausedRuns, saveRun } from "../runs/index.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import { expiryText, formText } from "../../../lib/form-text.ts";
import { formIn, submitCommand } from "../../../runs/outcome.ts";

/** A form that a paused run is waiting for. */
interface OpenForm {
  /** Title of the node that asks; null if the form cannot be read. */
  readonly node: string | null;
  readonly run: string;
  /** End user or account that started the run, if known. */
  readonly by: string | null;
  /** Unix seconds. */
  readonly expires: number | null;
  /** Null if the form cannot be submitted through the API. */
  readonly token: string | null;
}

/** A form; one that has expired can no longer be submitted, even while its run still waits. */
export type ListedForm = OpenForm & { readonly status: "expired" | null };

/** ms to wait for the pause in the events of a paused run. */
const MAX_READ = 60_000;

/**
 * The forms that wait: those of the paused runs in the log since a Unix second, and of runs that were
 * paused when they were last followed on this machine. A run whose form cannot be read has a row
 * without a node. Throws what requests throw, and `partial` at the end if the log is incomplete.
 */
export async function* openForms(since: number, context: Context): AsyncGenerator<OpenForm> {
  const { runs, incomplete } = await findPausedRuns(since, context);
  const forms = mapConcurrent(runs, context.api.limitConcurrency(), ([run, log]) =>
    readForms(run, log, context),
  );
  for await (const each of forms) yield* each;
  if (incomplete) throw incomplete;
}

/**
 * The forms that a run is waiting for, as its events announce them; none if it is not paused. `user` is
 * the end user that started it (default: that of the settings). Throws `not-found` for another user.
 */
export async function readPause(
  run: string,
  context: Context,
  user?: string,
): Promise<readonly EventFields[]> {
  const input = { workflow_run_id: run, include_state_snapshot: true, ...(user && { user }) };
  const { events, close } = await openStream(streamRunEvents, input, context);
  const done = new AbortController();
  let timedOut = false;
  const timer = context.host.sleep(MAX_READ, done.signal).then(
    () => {
      timedOut = true;
      close();
    },
    () => {}, // the events came first
  );
  const forms: EventFields[] = [];
  try {
    for await (const { event, fields } of eachEvent(events)) {
      if (event === "workflow_started") forms.length = 0;
      if (event === "human_input_required") forms.push(fields);
      if (event === "workflow_paused") return forms;
      if (event === "workflow_finished") return [];
    }
  } catch (error) {
    if (!timedOut) throw error;
  } finally {
    done.abort();
    await timer;
    await events.return();
  }
  return [];
}

/** The runs that may be paused, with their rows of the log; others were paused when last seen here. */
async function findPausedRuns(since: number, context: Context) {
  const runs = new Map<string, WorkflowLog | undefined>();
  let incomplete: CliError | undefined;
  try {
    // The server cannot filter by this status (server §12).
    const filters = { created_at__after: timeOf(since) };
    for await (const log of context.api.rows(listWorkflowLogs, filters))
      if (log.workflow_run?.status === "paused") runs.set(log.workflow_run.id, log);
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "partial") throw error;
    incomplete = error;
  }
  for (const run of await pausedRuns(context)) if (!runs.has(run)) runs.set(run, undefined);
  return { runs: [...runs], incomplete };
}

/** The forms of a run, or a row without a node if the API does not show them. */
async function readForms(
  run: string,
  log: WorkflowLog | undefined,
  context: Context,
): Promise<readonly OpenForm[]> {
  // Only the end user that started a run may read its events.
  const user = log?.created_by_end_user?.session_id;
  const by = user ?? log?.created_by_account?.email ?? null;
  try {
    const pause = await readPause(run, context, user);
    if (!log && pause.length === 0) await saveRun(run, { paused: false }, context);
    return pause.map((fields) => ({
      node: fields.node_title ?? fields.node_id ?? null,
      run,
      by,
      expires: fields.expiration_time ?? null,
      token: fields.form_token ?? null,
    }));
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
    // A run that was followed here may belong to another application or end user.
    return log ? [{ node: null, run, by, expires: null, token: null }] : [];
  }
}

/** Prints the text of a form and when it expires. */
export async function printForm(
  form: HumanInputForm,
  { host, options }: Context,
  print: Context["notice"],
): Promise<void> {
  for (const line of formText(form.form_content).split("\n")) await print(`  ${line}`);
  const { expiration_time: expires } = form;
  if (expires === null || expires === undefined) return;
  await print(`  ${expiryText(new Date(expires * 1000), host.now(), options.timeText)}`);
}

/** Prints the forms that a run is waiting for, with the commands that submit them. */
export async function noticeForms(run: string, context: Context): Promise<void> {
  try {
    for (const form of (await readPause(run, context)).flatMap(formIn)) {
      await context.notice(`waiting for form ${form.node ?? form.token}:`);
      const full = await context.api.call(getForm, { form_token: form.token });
      await printForm(full, context, context.notice);
      await context.notice(submitCommand(form));
    }
  } catch (error) {
    // The run of another end user, or a form that was submitted meanwhile: the record was shown.
    if (!(error instanceof ApiError) || error.response.status >= 500) throw error;
    await context.notice(`its form cannot be shown: ${error.message}`);
  }
}
