import type { ServerEvent } from "../../../api/sse.ts";
import { newIdSet } from "../../../api/id-set.ts";
import type { IdSet } from "../../../api/id-set.ts";
import { isObject, valueAt } from "../../../lib/json.ts";

/** Remembers what was shown, so that a snapshot after a reconnect repeats nothing. */
export interface Deduplicator {
  /** Should this event be shown? Remembers it. */
  isNew(event: ServerEvent): boolean;
  /** Message of an `error` event, if one came. */
  lastError(): string | undefined;
}

/** Events at the beginning of a connection that are kept to be compared. */
const mostKept = 100;

/**
 * Tells news from what a server says anew on every connection: events without an id of their own can
 * be told from earlier ones by their whole text alone.
 */
export function openings() {
  let before = new Set<string>();
  let now = new Set<string>();
  return {
    /** Another connection begins. */
    begin(): void {
      if (now.size > 0) before = now;
      now = new Set();
    },
    isNews({ raw }: ServerEvent): boolean {
      if (now.size < mostKept) now.add(raw);
      return !before.has(raw);
    },
  };
}

/** Live streams have no node events for these; snapshots do (server §15.6). */
const containers: ReadonlySet<unknown> = new Set(["iteration", "loop"]);

/** A filter for one run; its keys are those of server §15.6, kept in 16 bytes each. */
export function newDeduplicator(): Deduplicator {
  /** Ids by kind of event: most are UUIDs, which are kept as they are. */
  const seen = new Map<string, IdSet>();
  const once = (kind: string, id: string): boolean => {
    if (id.trim() === "") return true; // nobody can tell whether it came before
    let ids = seen.get(kind);
    if (ids === undefined) seen.set(kind, (ids = newIdSet()));
    return ids.add(id);
  };
  /** How often a node was resumed: it starts again under its old id (server §15.6). */
  const resumed = new Map<string, number>();
  let paused: readonly string[] = [];
  let answer: string | undefined;
  let failed: string | undefined;

  const isNew = ({ event, data: whole }: ServerEvent): boolean => {
    if (event === "text_chunk") return true;
    const data = isObject(whole["data"]) ? whole["data"] : {};
    const turn = () => resumed.get(String(data["node_id"])) ?? 0;
    switch (event) {
      case "workflow_started": {
        if (data["reason"] !== "resumption") return once("started", text(data["id"]));
        for (const node of paused) resumed.set(node, (resumed.get(node) ?? 0) + 1);
        paused = [];
        return once("resumed", `${text(data["id"])} ${text(data["created_at"])}`);
      }
      case "node_started":
        return (
          !containers.has(data["node_type"]) && once(`node_started ${turn()}`, text(data["id"]))
        );
      case "node_finished":
        return (
          !containers.has(data["node_type"]) &&
          data["status"] !== "paused" &&
          once(`node_finished ${text(data["status"])} ${turn()}`, text(data["id"]))
        );
      case "node_retry":
        return once("retry", `${text(data["id"])} ${text(data["retry_index"])} ${turn()}`);
      case "human_input_required":
        return once("form", text(data["form_id"]));
      case "workflow_paused":
        paused = texts(data["paused_nodes"]);
        // A snapshot tells them in another order.
        return once("paused", `${paused.toSorted().join(",")} ${formsOf(data["reasons"])}`);
      case "workflow_finished":
        return once("finished", text(data["id"]));
      case "message":
        // Only chatflows replay an answer, so only their text is kept.
        answer = (answer ?? "") + text(whole["answer"]);
        return true;
      case "message_replace":
        return replaced(text(whole["answer"]));
      case "error":
        failed = text(whole["message"]) || "error";
        return true;
      default:
        return true;
    }
  };

  /** A snapshot's saved answer is empty during the first segment: text shown stays (server §15.6). */
  const replaced = (by: string): boolean => {
    if (by === "" || by === answer) return false;
    answer = by;
    return true;
  };

  return { isNew, lastError: () => failed };
}

const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(text) : []);

const formsOf = (reasons: unknown): string =>
  Array.isArray(reasons)
    ? reasons
        .map((reason: unknown) => text(valueAt(reason, "form_id")))
        .sort()
        .join(",")
    : "";
