import type { ServerEvent } from "../../../lib/server-event.ts";
import { addNew } from "../../../lib/add-new.ts";
import { isObject, valueAt } from "../../../lib/json.ts";

/** Number of events compared at the start of a connection. */
const MAX_COMPARED = 100;

/**
 * Detects events that the server sends again at the start of every connection, by their full text:
 * some have no ID.
 */
export class ReplayDetector {
  private previous = new Set<string>();
  private current = new Set<string>();

  startConnection(): void {
    if (this.current.size > 0) this.previous = this.current;
    this.current = new Set();
  }

  isReplayed({ raw }: ServerEvent): boolean {
    if (this.current.size < MAX_COMPARED) this.current.add(raw);
    return this.previous.has(raw);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Filters out the events of a run that a snapshot sends again (server §15.6). */
export class Deduplicator {
  /** Message of the last `error` event. */
  lastError: string | undefined;
  /** IDs by kind of event. */
  private readonly seen = new Map<string, Set<string>>();
  /** How often each node was resumed: it starts again under its old ID (server §15.6). */
  private readonly resumed = new Map<string, number>();
  private pausedNodes: readonly string[] = [];
  /** Text of a chatflow: only chatflows send their text again. */
  private reply = "";

  /** Returns whether the event is new, and records it. */
  isNew({ event, data: envelope }: ServerEvent): boolean {
    if (event === "text_chunk") return true;
    const data = isObject(envelope["data"]) ? envelope["data"] : {};
    if (event === "message") this.reply += text(envelope["answer"]);
    if (event === "message_replace") return this.replaceReply(text(envelope["answer"]));
    if (event === "error") this.lastError = text(envelope["message"]) || "error";
    if (event === "workflow_paused") this.pausedNodes = texts(data["paused_nodes"]);
    if (event === "workflow_started" && data["reason"] === "resumption") this.resume();
    if (isOnlyInSnapshots(event, data)) return false;
    const key = this.keyOf(event, data);
    return key === undefined || this.addOnce(...key);
  }

  private resume(): void {
    for (const node of this.pausedNodes) this.resumed.set(node, (this.resumed.get(node) ?? 0) + 1);
    this.pausedNodes = [];
  }

  /** The saved text in a snapshot is empty until the first pause: text shown so far stays (server §15.6). */
  private replaceReply(reply: string): boolean {
    if (reply === "" || reply === this.reply) return false;
    this.reply = reply;
    return true;
  }

  /** The kind and ID under which an event may come again; undefined if it never does. */
  private keyOf(event: string, data: Fields): readonly [kind: string, id: string] | undefined {
    const id = text(data["id"]);
    const turn = this.resumed.get(String(data["node_id"])) ?? 0;
    switch (event) {
      case "workflow_started":
        return data["reason"] === "resumption"
          ? ["resumed", `${id} ${text(data["created_at"])}`]
          : ["started", id];
      case "node_started":
        return [`node_started ${turn}`, id];
      case "node_finished":
        return [`node_finished ${text(data["status"])} ${turn}`, id];
      case "node_retry":
        return ["retry", `${id} ${text(data["retry_index"])} ${turn}`];
      case "human_input_required":
        return ["form", text(data["form_id"])];
      case "workflow_paused":
        // Sorted, because a snapshot has another order.
        return ["paused", `${this.pausedNodes.toSorted().join(",")} ${formIdsOf(data["reasons"])}`];
      case "workflow_finished":
        return ["finished", id];
      default:
        return undefined;
    }
  }

  private addOnce(kind: string, id: string): boolean {
    if (id.trim() === "") return true; // cannot be compared
    let ids = this.seen.get(kind);
    if (ids === undefined) this.seen.set(kind, (ids = new Set()));
    return addNew(ids, id);
  }
}

/** Live streams have no such events of containers and waiting nodes; snapshots do (server §15.6). */
function isOnlyInSnapshots(event: string, { node_type: type, status }: Fields): boolean {
  if (event !== "node_started" && event !== "node_finished") return false;
  const isContainer = type === "iteration" || type === "loop";
  return isContainer || (event === "node_finished" && status === "paused");
}

const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(text) : []);

const formIdsOf = (reasons: unknown): string =>
  Array.isArray(reasons)
    ? reasons
        .map((reason: unknown) => text(valueAt(reason, "form_id")))
        .sort()
        .join(",")
    : "";
