/** Runs of applications that replay a recording. */
import { isObject } from "../../../lib/json.ts";
import type { StoredRun } from "../records/runs-store.ts";
import { newExecution, type RunContext } from "../nodes/node.ts";
import type { RecordingEvent } from "../definitions/app-definitions.ts";
import { type RunEvent, runEvent } from "../../protocol/fill.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Replays a recording as this run, with its own IDs; returns `workflow_finished`. */
export async function replayRun(
  context: RunContext,
  recording: readonly RecordingEvent[],
): Promise<RunEvent> {
  const { run, records, clock, signal, startedAt: since, publish } = context;
  publish(runEvent("workflow_started", { run, inputs: run.inputs, since, reason: "initial" }));
  const ids = new Map<unknown, string>();
  let now = recording[0]?.at ?? 0;
  for (const { at, event } of recording.slice(1, -1)) {
    if (at > now) await clock.sleep(at - now, signal);
    now = Math.max(now, at);
    const data = isObject(event["data"]) ? ownData(event["data"], ids, context) : undefined;
    if (data) noteExecution(context, event.event, data);
    if (event.event === "message") run.progress.said += String(event["answer"]);
    publish({ event: event.event, ...(data ? { data } : { fields: fieldsOf(event, run) }) });
  }
  const end = recording.at(-1)?.event["data"];
  closeRun(run, isObject(end) ? end : {});
  run.finished_at = records.now();
  run.elapsed_time = (run.finished_at - since) / 1000;
  records.saveSegment(run, run.status === "failed" ? "error" : "normal");
  const finished = runEvent("workflow_finished", { run, since });
  publish(finished);
  return finished;
}

/** The envelope of an event, which the run has itself. */
const ENVELOPE = /^(event|task_id|workflow_run_id|conversation_id|message_id|created_at|id)$/;

function fieldsOf(event: JsonObject, { message_id }: StoredRun): JsonObject {
  const fields = Object.entries(event).filter(([name]) => !ENVELOPE.test(name));
  return { ...("id" in event && { id: message_id }), ...Object.fromEntries(fields) };
}

/** The data of an event, with an ID of this run for each execution. */
function ownData(data: JsonObject, ids: Map<unknown, string>, { run, records }: RunContext) {
  const { id, node_id, workflow_run_id } = data;
  const run_id = workflow_run_id === undefined ? {} : { workflow_run_id: run.id };
  if (id === undefined || node_id === undefined) return { ...data, ...run_id };
  const own = ids.get(id) ?? records.newId();
  ids.set(id, own);
  return { ...data, ...run_id, id: own };
}

/** Keeps the nodes that have begun or ended for readers that connect later. */
function noteExecution({ run: { progress }, records }: RunContext, name: string, data: JsonObject) {
  if (name === "node_started") {
    progress.steps++;
    const { id, node_id, node_type: type, title } = data;
    const node = { id: String(node_id), type: String(type), title: String(title) };
    progress.executions.push({ ...newExecution(records, node), id: String(id) });
  }
  if (name !== "node_finished") return;
  const execution = progress.executions.find(({ id }) => id === data["id"]);
  if (!execution) return;
  execution.status = String(data["status"]);
  execution.elapsed = Number(data["elapsed_time"] ?? 0);
  execution.finishedAt = records.now();
}

const ends = ["succeeded", "partial-succeeded", "failed", "stopped"] as const;

function closeRun(run: StoredRun, end: JsonObject): void {
  run.status = ends.find((status) => status === end["status"]) ?? "succeeded";
  run.outputs = isObject(end["outputs"]) ? end["outputs"] : {};
  run.error = typeof end["error"] === "string" ? end["error"] : null;
  run.total_steps = Number(end["total_steps"] ?? run.progress.steps);
  run.total_tokens = Number(end["total_tokens"] ?? 0);
  run.exceptions_count = Number(end["exceptions_count"] ?? 0);
}
