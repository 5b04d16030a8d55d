import type { Call, Reply } from "../../http/handler.ts";
import type { StoredAnnotation, StoredRun } from "../../storage/runs-store.ts";
import { type AppContext, closing, isStreaming } from "../context.ts";
import { liveLine, messageMetadata, PING } from "../run/run-events.ts";
import { fillShape, runEvent } from "../shapes.ts";

/** Replies to a message of a chatflow with an annotation: the run of the message never starts. */
export function replyWithAnnotation(
  context: AppContext,
  call: Call,
  run: StoredRun,
  { answer }: StoredAnnotation,
): Reply {
  run.status = "succeeded";
  run.finished_at = context.records.now();
  run.progress.said = answer;
  context.records.saveSegment(run, "normal");
  // The annotation is not named here (server §18).
  const metadata = { ...messageMetadata(run, call.version), annotation_reply: undefined };
  if (!isStreaming(call))
    return { json: fillShape("blocking message", { run, metadata }), utf8: true };
  const message = runEvent("message", { run, text: answer, selector: null });
  const end = runEvent("message_end", { run, metadata });
  const lines = [PING, liveLine(run, message), liveLine(run, end)];
  return { stream: endless(lines, closing(context, call)) };
}

/** A stream that sends these lines, and then nothing until the client leaves (server §18). */
async function* endless(lines: readonly string[], left: AbortSignal): AsyncGenerator<string> {
  yield* lines;
  if (left.aborted) return;
  await new Promise((resolve) => left.addEventListener("abort", resolve, { once: true }));
}
