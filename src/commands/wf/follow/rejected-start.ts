import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { CliError, startRefused } from "../../../errors.ts";
import { isObject, valueAt } from "../../../lib/json.ts";

/**
 * The events of a run that is being started. Throws `refused` where they say that it never began
 * (server §13), before anything of it is passed on: an `error` before any other event, or a run that
 * began and failed at once and was never stored.
 */
export async function* checkStart(events: EventBatches): EventBatches {
  /** Told of a run that may never have been. */
  let held: readonly ServerEvent[] = [];
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) break;
      const all = [...held, ...next.value];
      const refusal = refusalIn(all);
      if (refusal !== undefined) throw refusal;
      if (!all.every(isUnsure)) {
        held = [];
        yield all;
        return yield* events;
      }
      held = all;
    }
  } catch (error) {
    // What was told of it is needed to look for it.
    if (held.length > 0 && !isRefusal(error)) yield held;
    throw error;
  } finally {
    await events.return(); // its connection is left, also where nobody reads on
  }
  if (held.length > 0) yield held;
}

/** Its task is the run itself, as in no stream of a run that begins. */
const isUnsure = ({ event, data }: ServerEvent): boolean =>
  event === "workflow_started" && data["task_id"] === data["workflow_run_id"];

function refusalIn(events: readonly ServerEvent[]): CliError | undefined {
  const [first] = events;
  if (first?.event === "error" && first.data["message_id"] === undefined)
    return refused(first.data["message"], first.data);
  const end = first && isUnsure(first) ? events.find(isOfNoRun) : undefined;
  return end && refused(valueAt(end.data, "data.error"), {});
}

/** The end of a run that was never stored: nobody created it, and it took no step. */
function isOfNoRun({ event, data: whole }: ServerEvent): boolean {
  const data = isObject(whole["data"]) ? whole["data"] : {};
  const { status, total_steps: steps, created_by: creator } = data;
  const nobody = !isObject(creator) || Object.keys(creator).length === 0;
  return event === "workflow_finished" && status === "failed" && !steps && nobody;
}

const isRefusal = (error: unknown): boolean =>
  error instanceof CliError && error.info.code === startRefused;

function refused(message: unknown, { code, status }: Readonly<Record<string, unknown>>): CliError {
  const why = typeof message === "string" && message !== "" ? message : "no reason given";
  const info = [status, code].filter(
    (each) => typeof each === "number" || typeof each === "string",
  );
  const kind = status === 429 ? "limited" : "refused";
  return new CliError(
    kind,
    `failed to start the run: ${why}${info.length > 0 ? ` (${info.join(" ")})` : ""}`,
    { code: startRefused, sideEffect: "none" },
  );
}
