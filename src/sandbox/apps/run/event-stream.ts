import { atLeast } from "../../../lib/version.ts";
import type { Clock } from "../../protocol/handler.ts";
import { ConnectionDropped } from "../../protocol/response.ts";
import type { StoredRun } from "../records/runs-store.ts";
import { liveLine, PING } from "../records/run-events.ts";
import type { RunEvent } from "../../protocol/fill.ts";

/** ms of silence until a ping, and until the stream is closed (server §20). */
const PING_INTERVAL = 10_000;
const IDLE_LIMIT = 300_000;
/** ms that the server keeps a stream open after its last event (server §15.3). */
const CLOSE_DELAY = 1000;

/** Published by a reader of a run that ends, since 1.15; no other reader can parse it (server §15.3). */
const CLOSED_EVENT = "__closed__";

interface QueuedEvent {
  readonly name: string;
  readonly line: string;
}

/** The readers of runs. An event reaches only those that read when it happens (server §15.3). */
export class Channels {
  readonly #readers = new Map<string, Set<Subscription>>();
  /** Runs with readers that disconnected; the server notices at the next event. */
  readonly #disconnected = new Set<string>();

  /** Adds a reader; it misses the first `lost` events. */
  subscribe(runId: string, version: string, lost = 0): Subscription {
    const readers = this.#readers.get(runId) ?? new Set();
    const subscription = new Subscription(lost, (how) => {
      if (!readers.delete(subscription)) return;
      if (readers.size === 0) this.#readers.delete(runId);
      if (how === "broken" || !atLeast(version, "1.15.0")) return;
      if (how === "ended") this.#publishClosed(runId);
      else this.#disconnected.add(runId);
    });
    this.#readers.set(runId, readers.add(subscription));
    return subscription;
  }

  publish(run: StoredRun, event: RunEvent): void {
    const line = liveLine(run, event);
    for (const reader of this.#readers.get(run.id) ?? []) reader.put({ name: event.event, line });
    // Recorded: an event of the same moment still arrives.
    if (this.#disconnected.delete(run.id)) queueMicrotask(() => this.#publishClosed(run.id));
  }

  #publishClosed(runId: string): void {
    for (const reader of this.#readers.get(runId) ?? [])
      reader.put({ name: CLOSED_EVENT, line: "" });
  }
}

/** One reader of a run; queues events until they are taken. */
class Subscription {
  /** Ends the subscription; the server does not notice that its client `disconnected`. */
  readonly close: (how: "ended" | "disconnected" | "broken") => void;
  readonly #queue: QueuedEvent[] = [];
  #lost: number;
  #wake = () => {};

  constructor(lost: number, close: Subscription["close"]) {
    this.#lost = lost;
    this.close = (how) => {
      this.#queue.length = 0;
      close(how);
    };
  }

  put(event: QueuedEvent): void {
    if (this.#lost-- > 0) return;
    this.#queue.push(event);
    this.#wake();
  }

  take(): QueuedEvent | undefined {
    return this.#queue.shift();
  }

  /** Waits for an event; resolves to false after `ms`, or when the signal is aborted. */
  async arrivesWithin(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
    const arrival = new AbortController();
    this.#wake = () => arrival.abort();
    await clock.sleep(ms, AbortSignal.any([arrival.signal, signal])).catch(() => {});
    return arrival.signal.aborted;
  }
}

/** How a stream begins and ends. */
export interface StreamRules {
  /** Lines to send before the live ones: a snapshot. */
  readonly first?: readonly string[];
  /** Names of events that end the stream; if empty, only silence ends it. */
  readonly endsOn: ReadonlySet<string>;
  /** The last line of `first` ends the stream. */
  readonly ended?: boolean;
  /** Closes with the last event, as servers before 1.13.0 and since 1.15 do (server §15.3). */
  readonly closesAtOnce?: boolean;
  /** Reports whether a worker keeps the stream open without any event. */
  readonly isActive?: () => boolean;
}

/**
 * Streams a run: a ping, the first lines, live events, pings during silence. Ends a second after the
 * last event, after 300 s without any event, or when `signal` is aborted.
 */
export async function* streamLines(
  subscription: Subscription,
  rules: StreamRules,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let { ended = false } = rules;
  let silence = 0;
  try {
    yield PING;
    yield* rules.first ?? [];
    while (!ended && silence < IDLE_LIMIT && !signal.aborted) {
      const event = subscription.take();
      if (event) silence = 0;
      if (event?.name === CLOSED_EVENT) {
        subscription.close("broken");
        if (!rules.first) throw new ConnectionDropped();
      } else if (event) {
        yield event.line;
        ended = rules.endsOn.has(event.name);
      } else if (!(await subscription.arrivesWithin(PING_INTERVAL, clock, signal))) {
        if (signal.aborted) break;
        silence = rules.isActive?.() ? 0 : silence + PING_INTERVAL;
        yield PING;
      }
    }
    if (ended && !rules.closesAtOnce) await clock.sleep(CLOSE_DELAY, signal).catch(() => {});
  } finally {
    subscription.close(signal.aborted ? "disconnected" : "ended");
  }
}

/** Events that end a stream: none, the end of the run, or the end and each pause. */
export const endEvents = {
  never: new Set<string>(),
  finish: new Set(["workflow_finished"]),
  pause: new Set(["workflow_finished", "workflow_paused"]),
} as const;
