import { serverEvent, eventFields } from "../lib/server-event.ts";
import type { ServerEvent, EventFields } from "../lib/server-event.ts";
import { finalOutcome, formsIn, isSuccess } from "../runs/outcome.ts";
import type { Form, RunOutcome } from "../runs/outcome.ts";
import { TextGaps } from "./text-gaps.ts";

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

/** Counters that are updated while a run is followed; repeats are events sent again after a reconnect. */
export const newFollowCounts = () => ({ events: 0, reconnects: 0, repeats: 0, gaps: 0 });
export type FollowCounts = ReturnType<typeof newFollowCounts>;

interface FilterOptions {
  /** Whether the run may have sent events before the first one seen. */
  readonly late: boolean;
  readonly throughPauses: boolean;
  /** Whether each connection starts with a state snapshot. */
  readonly snapshot: boolean;
}

/**
 * Merges the connections of a run into one sequence of events: drops events sent again, and marks
 * where some may be missing.
 *
 *   connection 1   started  A  "Leave is "
 *   (lost)                                  "30 days "
 *   connection 2   started  A                           B  "a year"  finished
 *   result         started  A  "Leave is "  _gap        B  "a year"  _gap_filled  finished
 *
 * A snapshot replays nodes but never text (server §15.6), so `_gap_filled` brings the missing text
 * from the outputs: "30 days a year" from position 9 on.
 */
export class EventFilter {
  /** ID of the run, once known. */
  runId: string | undefined;
  /** Kind of the last new event. */
  lastKind = "";
  /** Whether the last event received was a pause. */
  isPaused = false;
  private readonly options: FilterOptions;
  private readonly counts: FollowCounts;
  private readonly deduplicator = new Deduplicator();
  private readonly nodes = new NodeTracker();
  private readonly text: TextGaps;
  /** Forms announced since the run started or was resumed. */
  private forms: readonly Form[] | undefined;
  private hasReconnected = false;
  /** Whether something may be missing before the next event. */
  private isGapOpen = false;
  /** Whether a gap was announced for this run. */
  private hasGap = false;

  constructor(runId: string | undefined, options: FilterOptions, counts: FollowCounts) {
    this.runId = runId;
    this.options = options;
    this.counts = counts;
    this.text = new TextGaps(options.late);
  }

  /** Message of the last `error` event. */
  get streamError(): string | undefined {
    return this.deduplicator.lastError;
  }

  /** The server sends only what happens from now on: text sent while disconnected is lost. */
  startConnection(isReconnect: boolean): void {
    this.isGapOpen = this.hasReconnected = isReconnect;
    this.isPaused = false;
  }

  /**
   * Returns what is new in a batch, up to the event that ends the run with an outcome or its stream with
   * an error, and the pause if the batch holds one, new or not.
   */
  filterBatch(batch: readonly ServerEvent[]) {
    this.runId ??= batch.find(({ fields }) => fields.workflow_run_id)?.fields.workflow_run_id;
    const newEvents: ServerEvent[] = [];
    let outcome: RunOutcome | undefined;
    let pause: RunOutcome | undefined;
    let failed = false;
    for (const event of batch) {
      if (outcome || failed) break;
      this.trackForms(event);
      if (this.isPaused) pause = this.withDetails(finalOutcome(event, false));
      if (!this.deduplicator.isNew(event)) {
        this.skip(event);
        continue;
      }
      if (this.isGapOpen) newEvents.push(this.gap());
      this.isGapOpen = false;
      this.counts.events++;
      this.text.add(event);
      this.nodes.add(event);
      outcome = this.withDetails(finalOutcome(event, this.options.throughPauses));
      if (outcome && event.event === "workflow_finished") newEvents.push(...this.missing(event));
      newEvents.push(event);
      this.lastKind = event.event;
      failed = event.event === "error";
    }
    return { newEvents, outcome, pause, failed };
  }

  private trackForms({ event, fields }: ServerEvent): void {
    this.isPaused = event === "workflow_paused";
    if (event === "workflow_started") this.forms = undefined;
    if (event === "human_input_required")
      this.forms = [...(this.forms ?? []), ...(formsIn([fields]) ?? [])];
  }

  private skip({ event }: ServerEvent): void {
    if (this.hasReconnected) this.counts.repeats++;
    // The run was paused all the time, so nothing is missing.
    if (event === "workflow_paused" && this.lastKind === event) this.isGapOpen = false;
  }

  /** A pause whose reasons name no form waits for the announced forms; a failure has a node. */
  private withDetails(outcome: RunOutcome | undefined): RunOutcome | undefined {
    if (outcome?.status === "failed") return { ...outcome, node: this.nodes.failed(outcome.error) };
    return outcome?.status === "paused" && !outcome.forms?.length
      ? { ...outcome, forms: this.forms ?? outcome.forms }
      : outcome;
  }

  /** The event that announces a gap. */
  private gap(...more: readonly string[]): ServerEvent {
    this.text.markGap();
    this.counts.gaps++;
    this.hasGap = true;
    return this.createEvent("_gap", {
      reconnected: this.hasReconnected,
      missing: [...more, "text", "reasoning", "iterations", "loops", "agent logs"],
    });
  }

  /** The events to insert before the end of the run: a gap not yet announced, and missing text. */
  private missing(finished: ServerEvent): ServerEvent[] {
    // Without a snapshot, nodes that started earlier always look incomplete.
    const lostNodes =
      !this.hasGap && this.options.snapshot && this.nodes.hasLostEvent(finished)
        ? [this.gap("nodes")]
        : [];
    const texts = this.text.missingIn(finished.fields.outputs);
    if (texts?.length === 0) return lostNodes;
    // Without a gap so far, only the outputs show that the beginning is missing.
    const gaps = this.hasGap ? lostNodes : [this.gap()];
    return [...gaps, ...(texts ?? []).map((data) => this.createEvent("_gap_filled", { data }))];
  }

  /** An event of this program in the format of the server's. */
  private createEvent(event: string, more: object): ServerEvent {
    return serverEvent({ event, workflow_run_id: this.runId ?? "", ...more });
  }
}

/**
 * Tracks the starts and ends of nodes: which one failed, and whether an event was lost. The server reads
 * the state of a run before it subscribes to its events, so an event in between is lost without a sign
 * (server §15.3).
 */
export class NodeTracker {
  /** Whether each node that was ever started is running. */
  private readonly running = new Map<string, boolean>();
  private readonly failures: { readonly title: string; readonly error: string }[] = [];
  private hasUnknownEnd = false;

  add({ event, fields }: ServerEvent): void {
    if (event === "text_chunk") return; // most events
    const { id = "" } = fields;
    if (event === "node_started") this.running.set(id, true);
    if (event !== "node_finished") return;
    const { status, title = fields.node_id ?? "", error = "" } = fields;
    this.hasUnknownEnd ||= !this.running.has(id);
    if (this.running.has(id)) this.running.set(id, false);
    if (status === "failed") this.failures.push({ title, error });
  }

  /** Returns the node with the error of the run, or else the last that failed. */
  failed(error: string | null | undefined) {
    return this.failures.find((node) => node.error === error) ?? this.failures.at(-1);
  }

  /** Returns whether an event was lost, given the event that ends the run. */
  hasLostEvent({ fields: { status } }: ServerEvent): boolean {
    // In a failed or stopped run, running nodes never get an end.
    return this.hasUnknownEnd || (isSuccess(status) && [...this.running.values()].includes(true));
  }
}
