import type { ServerEvent } from "../../../lib/server-event.ts";

/**
 * Tracks the starts and ends of nodes to detect a lost event. The server reads the state of a run
 * before it subscribes to its events, so an event in between is lost without a sign (server §15.3).
 */
export class NodeTracker {
  private readonly started = new Set<unknown>();
  private readonly running = new Set<unknown>();
  private hasUnknownEnd = false;

  add({ event, fields: { id } }: ServerEvent): void {
    if (event === "node_started") {
      this.started.add(id);
      this.running.add(id);
    } else if (event === "node_finished") {
      if (!this.started.has(id)) this.hasUnknownEnd = true;
      this.running.delete(id);
    }
  }

  /** Returns whether an event was lost, given the event that ends the run. */
  hasLostEvent({ fields: { status } }: ServerEvent): boolean {
    // In a failed or stopped run, running nodes never get an end.
    const completed = status === "succeeded" || status === "partial-succeeded";
    return this.hasUnknownEnd || (completed && this.running.size > 0);
  }
}
