import type { EventStage } from "../../../api/sse.ts";
import { formatSeconds } from "../../../lib/numbers.ts";
import { isOn } from "../../../lib/environment.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { pipe } from "../../../lib/pipe.ts";
import { counted } from "../../../lib/text.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { getForm } from "../../../operations/forms.ts";
import { redactText } from "../../../redact/text.ts";
import { endingOf, finalOutcome } from "../../../runs/outcome.ts";
import { isEnded } from "../../../runs/status.ts";
import { nodeError } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";
import { saveRun } from "../runs/index.ts";
import type { NodeFailure } from "../runs/index.ts";
import type { FollowCounts } from "./event-filter.ts";
import { followRun } from "./follow.ts";
import { isResumedChatflow } from "./text-gaps.ts";

type Batch = readonly ServerEvent[];

/** Follows a run whose events are displayed. Throws and returns what `followRun` does. */
export const followDisplayed = (
  ...[options, context, counts]: Parameters<typeof followRun>
): ReturnType<typeof followRun> =>
  pipe(followRun(options, context, counts), warnAboutGaps(context), rememberRun(context));

/** Adds the text of forms, and warns where text may be missing. */
function warnAboutGaps(context: Context): EventStage {
  let isResumed = false;
  return {
    async batch(batch) {
      isResumed ||= batch.some(isResumedChatflow);
      // The text after the pause of a chatflow is always filled in at the end (server §18).
      const isFilled = isResumed && batch.some(({ event }) => event === "_gap_filled");
      const gap = batch.find(({ event }) => event === "_gap");
      if (gap && !isFilled) await context.notice(gapNotice(gap));
      return batch.some(isForm)
        ? Promise.all(batch.map((event) => withForm(event, pauseIn(batch), context)))
        : batch;
    },
  };
}

const gapNotice = ({ data, fields }: ServerEvent): string =>
  data["reconnected"] === true
    ? "events sent while disconnected, such as text, may be missing here"
    : `the server did not send some events, such as ${fields.missing?.[0] ?? "text"}`;

/**
 * Saves what the record of a run does not show: its task ID, so that the run can be stopped by its own
 * ID, that it was stopped (server §13), the nodes at which it failed (server §15.3), and whether it is
 * paused, and for which forms: the log has no runs of chats (server §12).
 */
function rememberRun(context: Context): EventStage {
  let isSaved = false;
  let isPaused = false;
  const keepsErrors = isOn(context.host.env["KB_KEEP_ERRORS"] || "1");
  let failures: readonly NodeFailure[] = [];
  const tokens = new Set<string>();
  const savePause = async ({ event, fields: { workflow_run_id: run } }: ServerEvent) => {
    const pauses = event === "workflow_paused";
    if (isPaused === pauses || !/^workflow_(paused|started|finished)$/.test(event)) return;
    isPaused = pauses;
    if (run !== undefined)
      await saveRun(run, { paused: isPaused, ...(isPaused && { forms: [...tokens] }) }, context);
    tokens.clear();
  };
  return {
    async batch(batch) {
      if (!isSaved) isSaved = await saveTask(batch, context);
      for (const event of batch) {
        if (isForm(event) && event.fields.form_token) tokens.add(event.fields.form_token);
        await savePause(event);
      }
      if (keepsErrors)
        failures = [...failures, ...failuresIn(batch, context)].slice(-MAX_SAVED_FAILURES);
      const last = batch.at(-1);
      const outcome = last && finalOutcome(last, true);
      const run = last?.fields.workflow_run_id;
      if (!outcome || run === undefined) return batch;
      const status = endingOf(outcome);
      if (!isEnded(status)) return batch;
      const hasFailed = status !== "stopped" && failures.length > 0 && status !== "succeeded";
      const facts = {
        status,
        ...(status === "stopped" && { end: { status, error: outcome.error } }),
        ...(hasFailed && { failures }),
      };
      await saveRun(run, facts, context);
      return batch;
    },
  };
}

/** Saves the task ID of a run if one of the events names it; returns whether one does. */
async function saveTask(batch: Batch, context: Context): Promise<boolean> {
  for (const { fields } of batch) {
    const { workflow_run_id: run, task_id: task } = fields;
    // Events of an ended run and some snapshots have the run ID instead, which stops nothing
    // (server §13).
    if (run === undefined || task === undefined || task === run) continue;
    await saveRun(run, { task }, context);
    return true;
  }
  return false;
}

/** Nodes of a run whose failures are saved, and characters of each error. */
const MAX_SAVED_FAILURES = 3;
const MAX_SAVED_ERROR = 1000;

/** The failures of nodes in a batch, without credentials. */
function failuresIn(batch: Batch, { host }: Context): readonly NodeFailure[] {
  const ends = batch.filter(({ event }) => event === "node_finished");
  return ends.flatMap(({ fields }) => {
    const error = nodeError(fields);
    if (error === undefined) return [];
    const node = fields.title ?? fields.node_id ?? "";
    const safe = host.secrets.masked(redactText(error));
    return [{ node, error: safe.slice(0, MAX_SAVED_ERROR) }];
  });
}

/** Prints a summary line when the events end, for whatever reason; none if they never began. */
export function countEvents(counts: FollowCounts, context: Context): EventStage {
  const start = context.host.elapsed();
  const summarize = () => {
    const seconds = (context.host.elapsed() - start) / 1000;
    return context.notice(`${summaryOf(counts)} in ${formatSeconds(seconds)}`);
  };
  const failed = () => (counts.events === 0 ? Promise.resolve() : summarize());
  return { end: summarize, failed, abandoned: summarize };
}

/** Example: `24 events, 2 reconnects, 7 duplicates dropped, 1 gap`; zeros are not shown. */
const summaryOf = ({ events, reconnects, repeats, gaps }: FollowCounts): string =>
  [
    counted(events, "event"),
    reconnects > 0 && counted(reconnects, "reconnect"),
    repeats > 0 && `${counted(repeats, "duplicate")} dropped`,
    gaps > 0 && counted(gaps, "gap"),
  ]
    .filter(Boolean)
    .join(", ");

/** Keeps events of these kinds, and those of this program; all by default. */
export const filterKinds = (kinds: ReadonlySet<string> | undefined): EventStage =>
  kinds
    ? { batch: (batch) => batch.filter(({ event }) => kinds.has(event) || event.startsWith("_")) }
    : {};

const isForm = ({ event }: ServerEvent) => event === "human_input_required";

/** Unix time of the pause in a batch, which forms in a snapshot lack. */
const pauseIn = (batch: Batch): number | undefined =>
  batch.find(({ event }) => event === "workflow_paused")?.fields.created_at;

/**
 * Adds the time of the pause to a form, and replaces text that still has placeholders, as in a
 * snapshot, with that of the form's own route (server §15.6). Changes only what is displayed: `raw`
 * stays as the server sent it.
 */
async function withForm(
  event: ServerEvent,
  created_at: number | undefined,
  context: Context,
): Promise<ServerEvent> {
  const form = event.data["data"];
  if (!isForm(event) || !isObject(form)) return event;
  const form_content = await formText(event, context);
  const data = { ...(created_at !== undefined && { created_at }), ...form, form_content };
  return { ...event, ...serverEvent({ ...event.data, data }, event.raw) };
}

async function formText({ data, fields }: ServerEvent, context: Context): Promise<unknown> {
  const { form_content, form_token } = fields;
  const hasPlaceholders = /\{\{#(?!\$output\.)/.test(form_content ?? "");
  if (form_token === undefined || !hasPlaceholders || context.options.format !== undefined)
    return valueAt(data, "data.form_content");
  try {
    return (await context.api.call(getForm, { form_token })).form_content;
  } catch (error) {
    if (context.signal.aborted) throw error;
    return form_content; // the form was submitted in the meantime
  }
}
