import type { ServerEvent, EventFields } from "../../../lib/server-event.ts";
import { eventFields } from "../../../lib/server-event.ts";

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

  /** Returns whether a batch holds an event that the connection before did not begin with. */
  hasNew(batch: readonly ServerEvent[]): boolean {
    for (const { raw } of batch) {
      if (this.current.size >= MAX_COMPARED) break;
      this.current.add(raw);
    }
    return batch.some(({ raw }) => !this.previous.has(raw));
  }
}

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
  isNew({ event, fields }: ServerEvent): boolean {
    if (event === "text_chunk") return true;
    if (event === "message") this.reply += fields.answer ?? "";
    if (event === "message_replace") return this.replaceReply(fields.answer);
    if (event === "error") this.lastError = fields.message ?? "error";
    if (event === "workflow_paused") this.pausedNodes = (fields.paused_nodes ?? []).map(String);
    if (event === "workflow_started" && fields.reason === "resumption") this.resume();
    if (isOnlyInSnapshots(event, fields)) return false;
    const key = this.keyOf(event, fields);
    return key === undefined || this.addOnce(...key);
  }

  /** Returns whether a node with this ID was started before it was first resumed. */
  wasStarted(id: string): boolean {
    return this.seen.get("node_started")?.has(id) ?? false;
  }

  private resume(): void {
    for (const node of this.pausedNodes) this.resumed.set(node, (this.resumed.get(node) ?? 0) + 1);
    this.pausedNodes = [];
  }

  /** The saved text in a snapshot is empty until the first pause: text shown so far stays (server §15.6). */
  private replaceReply(reply: string | undefined): boolean {
    if (reply === undefined || reply === this.reply) return false;
    this.reply = reply;
    return true;
  }

  /** The kind and ID under which an event may come again; undefined if it never does. */
  private keyOf(
    event: string,
    fields: EventFields,
  ): readonly [kind: string, id: string] | undefined {
    const { id = "", status = "" } = fields;
    const turn = this.resumed.get(fields.node_id ?? "") ?? 0;
    switch (event) {
      case "workflow_started":
        return fields.reason === "resumption"
          ? ["resumed", `${id} ${fields.created_at ?? ""}`]
          : ["started", id];
      case "node_started":
        return [event, inTurn(id, turn)];
      case "node_finished":
        return [`node_finished ${status}`, inTurn(id, turn)];
      case "node_retry":
        return ["retry", `${id} ${fields.retry_index ?? ""} ${turn}`];
      case "human_input_required":
        return ["form", fields.form_id ?? ""];
      case "workflow_paused":
        // Sorted, because a snapshot has another order.
        return ["paused", `${this.pausedNodes.toSorted().join(",")} ${formIdsOf(fields)}`];
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
    const { size } = ids;
    return ids.add(id).size > size;
  }
}

/** The ID of a node that was resumed so often, which starts under its old one. */
const inTurn = (id: string, turn: number): string => (turn === 0 ? id : `${id} ${turn}`);

/** Live streams have no such events of containers and waiting nodes; snapshots do (server §15.6). */
function isOnlyInSnapshots(event: string, { node_type: type, status }: EventFields): boolean {
  if (event !== "node_started" && event !== "node_finished") return false;
  const isContainer = type === "iteration" || type === "loop";
  return isContainer || (event === "node_finished" && status === "paused");
}

const formIdsOf = ({ reasons = [] }: EventFields): string =>
  reasons
    .map((reason) => eventFields(reason).form_id ?? "")
    .sort()
    .join(",");
