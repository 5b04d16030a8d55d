import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { eachEvent } from "../../../api/sse.ts";
import { secondsIn, timeOf } from "../../../api/time-windows.ts";
import { CliError, ApiError } from "../../../errors.ts";
import { expiryText, formText } from "../../../lib/form-text.ts";
import type { EventFields } from "../../../lib/server-event.ts";
import { counted } from "../../../lib/text.ts";
import { getAppInfo } from "../../../operations/apps.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import type { Input } from "../../../operations/operation.ts";
import { listWorkflowLogs, streamRunEvents } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { formsIn, hintWithoutForm, submitCommand } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { openStream } from "../../../follow/open-stream.ts";
import { pausedRuns, saveRun } from "../runs/index.ts";
import type { formListParams, ListedForm } from "./command.ts";

/** Seconds for which a run waits for its form by default (server §14). */
const WEEK = 7 * 86_400;

/**
 * Lists the forms that wait, and says which of them cannot be seen: a run whose form cannot be read has a
 * row without a node. Throws `partial` at the end if the log is incomplete.
 */
export async function* run(
  input: Input<typeof formListParams>,
  context: Context,
): AsyncGenerator<ListedForm> {
  const since = secondsIn(input.created_at__after, Math.ceil);
  let count = 0;
  let unreadable = 0;
  const { reading, incomplete } = await waitingForms(since, context);
  for await (const forms of reading) {
    count += forms.length;
    unreadable += forms.filter(({ node }) => node === null).length;
    yield* forms;
  }
  if (incomplete) throw incomplete;
  const { notice } = context;
  if (unreadable > 0)
    await notice(
      `${counted(unreadable, "paused run")} without a form here: started in the console or by a trigger, whose forms only the console shows`,
    );
  const { mode } = await context.api.call(getAppInfo, {});
  if (mode !== undefined && mode !== "workflow")
    await notice(
      `an application of mode ${mode} has no log: only forms of runs that were followed on this machine are listed`,
    );
  else if (count === 0 && input.created_at__after === undefined)
    await notice("only runs of the last 7 days were read; --since reads older ones");
}

/**
 * The forms of the paused runs since a Unix second (default: a week ago), a list for each run, the newest first.
 * `incomplete` is why the log may lack some.
 */
export async function waitingForms(since: number | undefined, context: Context) {
  const now = Math.floor(context.host.now().getTime() / 1000);
  const { runs, incomplete } = await findPausedRuns(since ?? now - WEEK, context);
  const reading = mapConcurrent(runs, context.api.limitConcurrency(), ([run, log]) =>
    readForms(run, log, now, context),
  );
  return { reading, incomplete };
}

/** ms to wait for the pause in the events of a paused run. */
const MAX_READ = 60_000;

/**
 * The forms that a run is waiting for, as its events announce them; none if it is not paused. `user` is
 * the end user that started it (default: that of the settings). Throws `not-found` for another user.
 */
async function readPause(
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

/**
 * The runs that may be paused: with their rows those in the log since a Unix second, and those that were
 * paused when they were last followed on this machine. Throws what requests throw.
 */
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
  now: number,
  context: Context,
): Promise<readonly ListedForm[]> {
  // Only the end user that started a run may read its events.
  const user = log?.created_by_end_user?.session_id;
  const by = user ?? log?.created_by_account?.email ?? null;
  try {
    const pause = await readPause(run, context, user);
    if (!log && pause.length === 0) await saveRun(run, { paused: false }, context);
    return pause.map(({ node_title, node_id, expiration_time: expires = null, form_token }) => ({
      node: node_title ?? node_id ?? null,
      run,
      by,
      expires,
      token: form_token ?? null,
      status: expires !== null && expires <= now ? "expired" : null,
    }));
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
    // A run that was followed here may belong to another application or end user.
    return log ? [{ node: null, run, by, expires: null, token: null, status: null }] : [];
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
    const forms = formsIn(await readPause(run, context));
    if (!forms?.length) await context.notice(hintWithoutForm(run, forms !== undefined));
    for (const form of forms ?? []) {
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
