import type { ServerEvent } from "../../../lib/server-event.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import type { Stage } from "../../../lib/pipe.ts";
import { getForm } from "../../../operations/forms.ts";
import { finalOutcome } from "../../../runs/final-event.ts";
import type { FollowCounts } from "./event-filter.ts";
import { saveTaskId, saveRunEnd } from "../task-ids.ts";
import { endingOf } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

type Batch = readonly ServerEvent[];

/** A stage for events of any stream. */
export type EventStage<Result = unknown> = Stage<Batch, Result>;

/** Adds the text of forms, and warns where text may be missing. */
export const warnAboutGaps = (context: Context): EventStage => ({
  async batch(batch) {
    if (batch.some(({ event }) => event === "_gap"))
      await context.notice("events sent while disconnected, such as text, may be missing here");
    return batch.some(isForm)
      ? Promise.all(batch.map((event) => withForm(event, pauseIn(batch), context)))
      : batch;
  },
});

/**
 * Saves the task ID of a run, so that the run can be stopped by its own ID, and that it was stopped,
 * which its record may never show (server §13).
 */
export function rememberTaskId(context: Context): EventStage {
  let isSaved = false;
  return {
    async batch(batch) {
      const named = isSaved ? undefined : batch.find(({ data }) => hasTaskId(data));
      if (named) {
        isSaved = true;
        const { workflow_run_id, task_id } = named.data;
        await saveTaskId(String(workflow_run_id), String(task_id), context);
      }
      const last = batch.at(-1);
      const outcome = last && finalOutcome(last, true);
      const run = last?.data["workflow_run_id"];
      if (outcome && endingOf(outcome) === "stopped" && typeof run === "string")
        await saveRunEnd(run, { status: "stopped", error: outcome.error }, context);
      return batch;
    },
  };
}

/** Events of an ended run and some snapshots have the run ID instead, which stops nothing (server §13). */
const hasTaskId = ({ workflow_run_id, task_id }: Readonly<Record<string, unknown>>): boolean =>
  typeof workflow_run_id === "string" && typeof task_id === "string" && task_id !== workflow_run_id;

/** Prints a summary line when the events end, for whatever reason. */
export function countEvents(counts: FollowCounts, context: Context): EventStage {
  const start = context.host.elapsed();
  const summarize = () => {
    const seconds = (context.host.elapsed() - start) / 1000;
    return context.notice(`${summaryOf(counts)} in ${seconds.toFixed(1)}s`);
  };
  return { end: summarize, failed: summarize, abandoned: summarize };
}

/** Example: `24 events, 2 reconnects, 7 duplicates dropped, 1 gap`. */
const summaryOf = ({ events, reconnects, repeats, gaps }: FollowCounts): string =>
  [
    counted(events, "event"),
    counted(reconnects, "reconnect"),
    `${counted(repeats, "duplicate")} dropped`,
    counted(gaps, "gap"),
  ].join(", ");

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Keeps events of these kinds, and those of this program; all by default. */
export const filterKinds = (kinds: ReadonlySet<string> | undefined): EventStage =>
  kinds
    ? { batch: (batch) => batch.filter(({ event }) => kinds.has(event) || event.startsWith("_")) }
    : {};

const isForm = ({ event }: ServerEvent) => event === "human_input_required";

/** Unix time of the pause in a batch. */
const pauseIn = (batch: Batch): unknown =>
  valueAt(batch.find(({ event }) => event === "workflow_paused")?.data, "data.created_at");

/** Adds the text of a form, and the time of its pause, which a snapshot lacks. */
async function withForm(event: ServerEvent, at: unknown, context: Context): Promise<ServerEvent> {
  const result = await withFormText(event, context);
  const form = result.data["data"];
  return isForm(event) && typeof at === "number" && isObject(form)
    ? { ...result, data: { ...result.data, data: { created_at: at, ...form } } }
    : result;
}

/**
 * Replaces form text that still has placeholders, as in a snapshot, with that of the form's own route
 * (server §15.6). Changes only what is displayed: `raw` stays as the server sent it.
 */
async function withFormText(event: ServerEvent, context: Context): Promise<ServerEvent> {
  const form = isForm(event) ? event.data["data"] : undefined;
  if (!isObject(form) || context.options.format !== undefined) return event;
  const { form_content, form_token } = form;
  if (typeof form_token !== "string" || !/\{\{#(?!\$output\.)/.test(String(form_content)))
    return event;
  try {
    const { form_content: text } = await context.call(getForm, { form_token });
    return { ...event, data: { ...event.data, data: { ...form, form_content: text } } };
  } catch (error) {
    if (context.signal.aborted) throw error;
    return event; // the form was submitted in the meantime
  }
}
