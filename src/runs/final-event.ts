import { isObject, valueAt } from "../lib/json.ts";
import type { Form, RunOutcome } from "./outcome.ts";

/** An event of a run's stream. */
interface RunEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The outcome that an event announces; undefined while the run continues. */
export function finalOutcome(event: RunEvent, throughPauses: boolean): RunOutcome | undefined {
  const data = event.data["data"];
  // Without a status the event announces nothing; the run's record decides.
  if (event.event === "workflow_finished")
    return typeof valueAt(data, "status") === "string" ? outcomeOf(data) : undefined;
  if (event.event !== "workflow_paused" || throughPauses) return undefined;
  return outcomeOf({ status: "paused", reasons: valueAt(data, "reasons") });
}

/** The outcome in the data of a final event or of a blocking response. */
export function outcomeOf(data: unknown): RunOutcome {
  const fields: Readonly<Record<string, unknown>> = isObject(data) ? data : {};
  const { status, error, exceptions_count: exceptions, reasons } = fields;
  if (status === "paused")
    return { status: "paused", forms: Array.isArray(reasons) ? reasons.flatMap(formIn) : [] };
  return {
    status: typeof status === "string" ? status : "unknown",
    error: typeof error === "string" ? error : undefined,
    exceptions: typeof exceptions === "number" ? exceptions : undefined,
  };
}

/** The form in a pause reason, as a list of one; empty for a form sent by e-mail (server §14). */
export function formIn(reason: unknown): readonly Form[] {
  const token = valueAt(reason, "form_token");
  const actions = valueAt(reason, "actions");
  if (typeof token !== "string") return [];
  const ids = Array.isArray(actions)
    ? actions.flatMap((action: unknown) => textAt(action, "id"))
    : [];
  const inputs = valueAt(reason, "inputs");
  const defaults = valueAt(reason, "resolved_default_values");
  const names = (Array.isArray(inputs) ? (inputs as unknown[]) : [])
    .filter((input) => !valueAt(input, "default.value"))
    .flatMap((input) => textAt(input, "output_variable_name"))
    .filter((name) => !valueAt(defaults, name));
  const node = valueAt(reason, "node_title");
  const nodeId = valueAt(reason, "node_id");
  return [
    {
      token,
      node: typeof node === "string" ? node : undefined,
      nodeId: typeof nodeId === "string" ? nodeId : undefined,
      actions: ids,
      inputs: names,
    },
  ];
}

/** The string at a path as a list of one, or an empty list. */
const textAt = (value: unknown, path: string): readonly string[] =>
  [valueAt(value, path)].filter((each) => typeof each === "string");
