import type { ServerEvent } from "../api/events.ts";
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
    yield next.value;
  }
}
