import { valueAt } from "../lib/json.ts";
import { isNumber } from "../lib/server-event.ts";
import type { EventFields } from "../lib/server-event.ts";

/** A call of a model by a node. */
export interface ModelUse {
  /** The server's name of the provider: `langgenius/openai/openai`. */
  readonly provider: string;
  readonly model: string;
  /** `chat` or `completion`. */
  readonly mode: string;
  /** Tokens; undefined if the server does not tell them, as after a failure. */
  readonly input: number | undefined;
  readonly output: number | undefined;
}

/** The model that a node called, from its end; undefined for other nodes and for redacted names. */
export function modelUse(fields: EventFields): ModelUse | undefined {
  const { node_type, process_data, inputs, outputs } = fields;
  // A node that fails before the response has no process data (server §15.5).
  const isEarly = valueAt(process_data, "model_name") === undefined && node_type === "llm";
  const told = isEarly ? inputs : process_data;
  const [provider, model] = [valueAt(told, "model_provider"), valueAt(told, "model_name")];
  if (typeof provider !== "string" || typeof model !== "string" || model.startsWith("<"))
    return undefined;
  const tokens = (name: string) =>
    [process_data, outputs].map((each) => valueAt(each, `usage.${name}`)).find(isNumber);
  const mode = String(valueAt(told, "model_mode") ?? "chat");
  return {
    provider,
    model,
    mode,
    input: tokens("prompt_tokens"),
    output: tokens("completion_tokens"),
  };
}
