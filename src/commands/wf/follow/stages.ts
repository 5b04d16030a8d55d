import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { getForm } from "../../../operations/forms.ts";
import { finalOutcome } from "../../../runs/final-event.ts";
import type { FollowCounts } from "./follow.ts";
import { saveTaskId, saveRunEnd } from "../task-ids.ts";
import { endingOf } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** Passes events on and says on standard error where text is missing. */
export async function* warnAboutGaps<T>(
  events: EventBatches<T>,
  context: Context,
): EventBatches<T> {
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    const batch = next.value;
    if (batch.some(({ event }) => event === "_gap")) {
      await context.notice("what was sent meanwhile, such as text, may be missing here");
    }
    yield batch.some(isForm)
      ? await Promise.all(batch.map((event) => withForm(event, pauseIn(batch), context)))
      : batch;
  }
}

/**
 * Passes events on and remembers which task the run is, so that it can be stopped by its own id, and
 * that it was stopped, which its record may never say (server §13).
 */
export async function* rememberTaskId<T>(
  events: EventBatches<T>,
  context: Context,
): EventBatches<T> {
  let known = false;
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    const named = known ? undefined : next.value.find(({ data }) => isTask(data));
    if (named) {
      known = true;
      const { workflow_run_id, task_id } = named.data;
      await saveTaskId(String(workflow_run_id), String(task_id), context);
    }
    const last = next.value.at(-1);
    const outcome = last && finalOutcome(last, true);
    const run = last?.data["workflow_run_id"];
    if (outcome && endingOf(outcome) === "stopped" && typeof run === "string")
      await saveRunEnd(run, { status: "stopped", error: outcome.error }, context);
    yield next.value;
  }
}

/** In an event of an ended run and in some snapshots the task is the run, which stops nothing (server §13). */
const isTask = ({ workflow_run_id, task_id }: Readonly<Record<string, unknown>>): boolean =>
  typeof workflow_run_id === "string" && typeof task_id === "string" && task_id !== workflow_run_id;

/** Passes events on and says at the end, however it comes, what happened on the way. */
export async function* countEvents<T>(
  events: EventBatches<T>,
  tally: FollowCounts,
  context: Context,
): EventBatches<T> {
  const start = context.host.elapsed();
  try {
    return yield* events;
  } finally {
    const seconds = (context.host.elapsed() - start) / 1000;
    await context.notice(`${summaryOf(tally)} in ${seconds.toFixed(1)} s`);
  }
}

/** `24 events, 2 reconnects, 7 repeats dropped, 1 gap`. */
const summaryOf = ({ events, reconnects, repeats, gaps }: FollowCounts): string =>
  [
    counted(events, "event"),
    counted(reconnects, "reconnect"),
    `${counted(repeats, "repeat")} dropped`,
    counted(gaps, "gap"),
  ].join(", ");

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Events of these kinds, or all; what is missing is told all the same. */
export async function* filterKinds<T>(
  events: EventBatches<T>,
  kinds: ReadonlySet<string> | undefined,
): EventBatches<T> {
  if (kinds === undefined) return yield* events;
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    const wanted = next.value.filter(({ event }) => kinds.has(event) || event.startsWith("_"));
    if (wanted.length > 0) yield wanted;
  }
}

const isForm = ({ event }: ServerEvent) => event === "human_input_required";

/** When the pause of a batch began, in Unix seconds. */
const pauseIn = (batch: readonly ServerEvent[]): unknown =>
  valueAt(batch.find(({ event }) => event === "workflow_paused")?.data, "data.created_at");

/** The form with its text, and with the time of its pause: one of a snapshot bears none. */
async function withForm(event: ServerEvent, at: unknown, context: Context): Promise<ServerEvent> {
  const info = await withFormText(event, context);
  const form = info.data["data"];
  return isForm(event) && typeof at === "number" && isObject(form)
    ? { ...info, data: { ...info.data, data: { created_at: at, ...form } } }
    : info;
}

/**
 * A snapshot's form text still holds its placeholders; the form's own route has the text (server
 * §15.6). Only what is shown changes: the server's own words stay in `raw`.
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
    return event; // answered meanwhile
  }
}
