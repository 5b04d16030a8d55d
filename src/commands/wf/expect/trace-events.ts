import type { EventStage } from "../../../api/sse.ts";
import { redactKeys } from "../../../redact/recordings.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";

/** A stage that adds events to a trace. What a trace has is printed, so keys are redacted. */
export const traceEvents = (trace: RunTrace, { host }: Context): EventStage => ({
  batch(events) {
    const time = host.now().getTime();
    for (const event of events) trace.add(redactKeys(event, host.secrets), event.at ?? time);
    return events;
  },
});
