import type { ServerEvent } from "../api/events.ts";
import { isObject, valueAt } from "../json.ts";

/** Remembers what was shown, so that a snapshot after a reconnect repeats nothing. */
export interface ReplayFilter {
  /** Should this event be shown? Remembers it. */
  isNew(event: ServerEvent): boolean;
  /** Message of an `error` event, if one came. */
  lastError(): string | undefined;
}

/** Live streams have no node events for these; snapshots do (server §15.6). */
const containers = new Set(["iteration", "loop"]);

/** A filter for one run; its keys are those of server §15.6. */
export function replayFilter(): ReplayFilter {
  const seen = new Set<string>();
  /** Keys by node, to be forgotten when a paused node starts again under its old id. */
  const ofNode = new Map<string, Set<string>>();
  let paused: readonly string[] = [];
  let answer = "";
  let failed: string | undefined;

  const isNew = (event: ServerEvent): boolean => {
    const data = event.data["data"];
    const fields = isObject(data) ? data : {};
    const id = String(fields["id"] ?? "");
    const node = String(fields["node_id"] ?? "");
    switch (event.event) {
      case "workflow_started": {
        const resumed = fields["reason"] === "resumption";
        if (resumed) forget(paused);
        return once(
          `started ${id} ${resumed ? `${fields["reason"]} ${fields["created_at"]}` : ""}`,
        );
      }
      case "node_started":
        return !containers.has(String(fields["node_type"])) && once(`node_started ${id}`, node);
      case "node_finished":
        if (containers.has(String(fields["node_type"])) || fields["status"] === "paused")
          return false;
        return once(`node_finished ${id} ${fields["status"]}`, node);
      case "node_retry":
        return once(`node_retry ${id} ${fields["retry_index"]}`, node);
      case "human_input_required":
        return once(`form ${fields["form_id"]}`);
      case "workflow_paused":
        paused = texts(fields["paused_nodes"]);
        return once(`paused ${paused.join(",")} ${formsOf(fields["reasons"])}`);
      case "workflow_finished":
        return once(`finished ${id}`);
      case "message":
        answer += String(event.data["answer"] ?? "");
        return true;
      case "message_replace":
        return replaced(String(event.data["answer"] ?? ""));
      case "error":
        failed = String(event.data["message"] ?? "error");
        return true;
      default:
        return true;
    }
  };

  const once = (key: string, node?: string): boolean => {
    if (seen.has(key)) return false;
    seen.add(key);
    if (node !== undefined) {
      const keys = ofNode.get(node) ?? new Set();
      ofNode.set(node, keys.add(key));
    }
    return true;
  };

  const forget = (nodes: readonly string[]) => {
    for (const node of nodes) {
      for (const key of ofNode.get(node) ?? []) seen.delete(key);
      ofNode.delete(node);
    }
  };

  /** A snapshot's saved answer is empty during the first segment: text shown stays (server §15.6). */
  const replaced = (text: string): boolean => {
    if (text === "" || text === answer) return false;
    answer = text;
    return true;
  };

  return { isNew, lastError: () => failed };
}

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

const formsOf = (reasons: unknown): string =>
  Array.isArray(reasons)
    ? reasons.map((reason: unknown) => String(valueAt(reason, "form_id") ?? "")).join(",")
    : "";
