import type { Clock } from "./handler.ts";
import { atLeast } from "./router.ts";
import { liveLine, PING, type RunEvent } from "../apps/run-events.ts";
import type { StoredRun } from "../storage/runs-store.ts";

/** Silence until a ping, and of the whole stream until it is closed, in ms (server §20). */
const pingAfter = 10_000;
const idleLimit = 300_000;
/** The server keeps a stream open so long after the event that ends it, in ms (server §15.3). */
const tail = 1000;

interface Arrived {
  readonly name: string;
  readonly line: string;
}

/** One reader of a run: events queue here until they are taken. */
export interface Subscription {
  take(): Arrived | undefined;
  /** Resolves when something is there to take. */
  arrival(): Promise<void>;
  /** The stream is over, its client has gone and the server does not know it yet, or it is deaf. */
  close(how: "over" | "gone" | "deaf"): void;
}

/**
 * What a reader that ends tells on the channel of its run since 1.15, where all others hear it and
 * cannot read it (server §15.3).
 */
const closedWord = "__closed__";

/** Who reads which run. An event reaches only those who read when it happens (server §15.3). */
export interface Channels {
  /** `lost`: so many events pass before the reader is really there. */
  subscribe(runId: string, version: string, lost?: number): Subscription;
  publish(run: StoredRun, event: RunEvent): void;
}

/** Channels without readers. */
export function createChannels(): Channels {
  const readers = new Map<string, Set<(arrived: Arrived) => void>>();
  /** Readers that have gone, until the next event shows it to the server. */
  const gone = new Map<string, number>();
  const closed = (runId: string) => {
    for (const put of readers.get(runId) ?? []) put({ name: closedWord, line: "" });
  };
  return {
    subscribe(runId, version, lost = 0) {
      const queue: Arrived[] = [];
      let wake = () => {};
      let missed = 0;
      const put = (arrived: Arrived) => {
        if (missed++ < lost) return;
        queue.push(arrived);
        wake();
      };
      const all = readers.get(runId) ?? new Set();
      readers.set(runId, all.add(put));
      return {
        take: () => queue.shift(),
        arrival: () =>
          queue.length > 0
            ? Promise.resolve()
            : new Promise((resolve) => {
                wake = resolve;
              }),
        close(how) {
          if (!all.delete(put)) return;
          if (all.size === 0) readers.delete(runId);
          if (how === "deaf" || !atLeast(version, "1.15.0")) return;
          if (how === "over") closed(runId);
          else gone.set(runId, (gone.get(runId) ?? 0) + 1);
        },
      };
    },
    publish(run, event) {
      const line = liveLine(run, event);
      for (const put of readers.get(run.id) ?? []) put({ name: event.event, line });
      // Recorded: an event of the same moment still arrives.
      if (gone.delete(run.id)) queueMicrotask(() => closed(run.id));
    },
  };
}

/** Ends a stream in the middle, without the mark that ends an answer. */
export class ConnectionDropped extends Error {}

/** How a stream begins and what ends it. */
export interface StreamRules {
  /** Lines that come before the live ones: a snapshot. */
  readonly first?: readonly string[];
  /** Names of events that end the stream; without any only silence does. */
  readonly endsOn: ReadonlySet<string>;
  /** The last line of `first` already ends it. */
  readonly ended?: boolean;
  /** Closes with the ending event itself, as servers before 1.13.0 and since 1.15 do (server §15.3). */
  readonly abrupt?: boolean;
  /** Does a worker keep the stream alive although nothing is published? */
  readonly kept?: () => boolean;
}

/**
 * The lines of an event stream: a ping at once, what is to be replayed, live events, pings in
 * silence. Ends a second after the closing event, after 300 s without any, or when `signal` aborts.
 */
export function eventStream(
  subscription: Subscription,
  rules: StreamRules,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  // A reader that goes away before its first line never runs the generator's own end.
  signal.addEventListener("abort", () => subscription.close("gone"), { once: true });
  return linesOf(subscription, rules, clock, signal);
}

async function* linesOf(
  subscription: Subscription,
  rules: StreamRules,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    yield PING;
    yield* rules.first ?? [];
    let ended = rules.ended ?? false;
    let silence = 0;
    let deaf = false;
    while (!ended && silence < idleLimit && !signal.aborted) {
      const arrival = deaf ? never : subscription.arrival();
      if (await within(pingAfter, arrival, clock, signal)) {
        silence = 0;
        for (let got = subscription.take(); got && !deaf; got = subscription.take()) {
          if (got.name === closedWord) {
            subscription.close("deaf");
            if (!rules.first) throw new ConnectionDropped();
            deaf = true;
            break;
          }
          yield got.line;
          if (rules.endsOn.has(got.name)) {
            ended = true;
            break;
          }
        }
      } else if (!signal.aborted) {
        silence = rules.kept?.() ? 0 : silence + pingAfter;
        yield PING;
      }
    }
    if (ended && !rules.abrupt) await clock.sleep(tail, signal).catch(() => {});
  } finally {
    subscription.close(signal.aborted ? "gone" : "over");
  }
}

const never = new Promise<void>(() => {});

/** Did it happen within so many ms? Also false when the signal aborts first. */
async function within(
  ms: number,
  happened: Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const awake = new AbortController();
  const late = clock.sleep(ms, AbortSignal.any([awake.signal, signal])).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([happened.then(() => true), late]);
  } finally {
    awake.abort();
  }
}

/** Which events end a stream: not at all, at the end of the run, or also where it pauses. */
export const endEvents = {
  never: new Set<string>(),
  finish: new Set(["workflow_finished"]),
  pause: new Set(["workflow_finished", "workflow_paused"]),
} as const;
