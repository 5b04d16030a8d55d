import type { ServerEvent } from "../../../api/sse.ts";
import { isObject } from "../../../lib/json.ts";

/** Keeps account of the nodes of a run, to find at its end that an event was lost. */
export interface NodeLedger {
  see(event: ServerEvent): void;
  /** Does the event that ends the run show that one of a node never came? */
  isTorn(finished: ServerEvent): boolean;
}

/**
 * An account of starts and ends by execution id. The server reads the state of a run before it
 * subscribes to its events, so one that falls in between is lost without a sign (server §15.3).
 */
export function nodeLedger(): NodeLedger {
  const open = new Set<unknown>();
  const started = new Set<unknown>();
  let endedUnseen = false;
  return {
    see({ event, data: whole }) {
      const data = isObject(whole["data"]) ? whole["data"] : {};
      const { id } = data;
      if (event === "node_started") {
        open.add(id);
        started.add(id);
      } else if (event === "node_finished") {
        if (!started.has(id)) endedUnseen = true;
        open.delete(id);
      }
    },
    isTorn({ data: whole }) {
      const { status } = isObject(whole["data"]) ? whole["data"] : {};
      // In a run that failed or was stopped, nodes at work get no end.
      const completed = status === "succeeded" || status === "partial-succeeded";
      return endedUnseen || (completed && open.size > 0);
    },
  };
}
