/** Recordings of runs, as `wf run --record` writes them. */
import { isObject, own, tryParseJson } from "../../../lib/json.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** An event of a recording. */
export interface RecordingEvent {
  /** ms since the first event. */
  readonly at: number;
  /** As the server sent it. */
  readonly event: JsonObject & { readonly event: string };
}

/**
 * Reads a recording, or the output of `wf events -o jsonl`, which has no pauses between events, as an
 * application in the shape of an exported one. Throws an Error with the reason if it is not that of
 * one whole run.
 */
export function readRecording(text: string, name: string): object {
  const recording = text.split("\n").flatMap((line, index): RecordingEvent[] => {
    if (line.trim() === "") return [];
    const value = tryParseJson(line);
    if (!isObject(value)) throw new Error(`line ${index + 1}: invalid JSON`);
    const { at = 0, event } = typeof value["event"] === "string" ? { event: value } : value;
    if (!isObject(event) || typeof event["event"] !== "string") return []; // the head or the end
    return [{ at: Number(at), event: { ...event, event: event["event"] } }];
  });
  const names = recording.map(({ event }) => event.event);
  if (names[0] !== "workflow_started" || names.at(-1) !== "workflow_finished") {
    throw new Error("it must begin with workflow_started and end with workflow_finished");
  }
  if (names.includes("workflow_paused")) throw new Error("a run that pauses cannot be replayed");
  const mode = recording.some(({ event }) => "message_id" in event) ? "advanced-chat" : "workflow";
  const nodes = [{ id: "start", data: { type: "start", variables: inputFields(recording[0]) } }];
  return {
    app: { name, description: "Replays a recording.", mode },
    workflow: { graph: { nodes, edges: [] } },
    recording,
  };
}

const inputTypes = { string: "paragraph", number: "number", boolean: "checkbox" } as const;

/** Optional fields for the inputs of the recorded run. */
function inputFields(started: RecordingEvent | undefined): object[] {
  const data = started?.event["data"];
  const inputs = isObject(data) && isObject(data["inputs"]) ? data["inputs"] : {};
  return Object.entries(inputs).flatMap(([variable, value]) => {
    const type = own(inputTypes, typeof value);
    return type === undefined || variable.startsWith("sys.")
      ? []
      : [{ type, variable, label: variable, required: false }];
  });
}
