import type { ServerEvent } from "../api/events.ts";
import { isObject } from "../json.ts";
import * as forms from "../operations/forms.ts";
import { followed } from "./following.ts";
import { conclude } from "./run-outcome.ts";
import type { Context } from "./task.ts";

/** Input of `wf events`. */
interface Input {
  readonly workflow_run_id: string;
  readonly follow?: boolean | undefined;
  readonly through_pauses?: boolean | undefined;
  readonly no_snapshot?: boolean | undefined;
}

/** Events of a run as they come; ends with what became of it (conclude). */
export async function* run(input: Input, context: Context): AsyncGenerator<ServerEvent> {
  const events = followed(
    {
      runId: input.workflow_run_id,
      reconnect: input.follow ?? false,
      throughPauses: input.through_pauses ?? false,
      snapshot: !input.no_snapshot,
    },
    context,
  );
  const { outcome } = yield* shown(events, context);
  await conclude(input.workflow_run_id, outcome, context.notice);
}

/** Passes events on and says on standard error where text is missing. */
export async function* shown<T>(
  events: AsyncGenerator<ServerEvent, T>,
  context: Context,
): AsyncGenerator<ServerEvent, T> {
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    if (next.value.event === "_gap") {
      await context.notice("connected again; text sent meanwhile is missing here");
    }
    yield await withFormText(next.value, context);
  }
}

/**
 * A snapshot's form text still holds its placeholders; the form's own route has the text (server
 * §15.6). Only what is shown changes: the server's own words stay in `raw`.
 */
async function withFormText(event: ServerEvent, context: Context): Promise<ServerEvent> {
  const form = event.event === "human_input_required" ? event.data["data"] : undefined;
  if (!isObject(form) || context.asked.format !== undefined) return event;
  const { form_content, form_token } = form;
  if (typeof form_token !== "string" || !/\{\{#(?!\$output\.)/.test(String(form_content)))
    return event;
  try {
    const { form_content: text } = await context.call(forms.show, { form_token });
    return { ...event, data: { ...event.data, data: { ...form, form_content: text } } };
  } catch (error) {
    if (context.signal.aborted) throw error;
    return event; // answered meanwhile
  }
}
