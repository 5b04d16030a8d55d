import type { AdaptiveLimit, AttemptEnd } from "./adaptive-limit.ts";

/** Places in which tasks run, shared with others. */
export interface Places {
  /** Takes a place; undefined if there is none. */
  take(): Place | undefined;
  /** Calls back, again and again, when a place may be there. */
  request(onFree: () => void): void;
  forget(onFree: () => void): void;
  /** Gives back the places in which nothing runs. */
  settle(): void;
}

/** A place that a task has taken. */
export interface Place {
  /** Leaves it: the next task may take it, until `settle`. */
  leave(): void;
}

/** The longest pause between two requests with a limit below one, in ms. */
const MAX_PAUSE = 5000;

/** What a limiter needs of its surroundings. */
interface LimiterParts {
  readonly limit: AdaptiveLimit;
  /** Places that other processes share (default: without limit). */
  readonly places?: Places | undefined;
  /** ms of a monotonic clock. */
  readonly elapsed: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Admits the tasks of maps: as many at a time as the limit allows and the places that there are. */
export class ConcurrencyLimiter {
  readonly #parts: LimiterParts;
  #active = 0;
  #pausing = false;
  readonly #waiting = new Set<() => void>();

  constructor(parts: LimiterParts) {
    this.#parts = parts;
  }

  get limit(): number {
    return this.#parts.limit.whole;
  }

  /** Notes that a request is sent, by whatever task; returns what to call when it has ended. */
  sent(): (end: AttemptEnd) => void {
    return this.#parts.limit.sent();
  }

  /** Admits a task; undefined if it must wait: then `retry` is called when it may be admitted. */
  enter(retry: () => void): Place | undefined {
    const { limit, places, elapsed } = this.#parts;
    const isFull = this.#active >= limit.whole;
    if (isFull) limit.wantMore();
    if (isFull || this.#pausing) {
      this.#waiting.add(retry);
      return undefined;
    }
    const place = places?.take();
    if (places && !place) {
      places.request(retry);
      return undefined;
    }
    this.#active++;
    const start = elapsed();
    return {
      leave: () => {
        this.#active--;
        place?.leave();
        if (limit.value < 1) this.#pause((elapsed() - start) * (1 / limit.value - 1));
      },
    };
  }

  /** Ends the waiting of a map. */
  forget(retry: () => void): void {
    this.#waiting.delete(retry);
    this.#parts.places?.forget(retry);
  }

  /** Lets other maps start tasks after one has ended. */
  settle(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const retry of waiting) retry();
    this.#parts.places?.settle();
  }

  #pause(ms: number): void {
    this.#pausing = true;
    const end = () => {
      this.#pausing = false;
      this.settle();
    };
    this.#parts.sleep(Math.min(ms, MAX_PAUSE)).then(end, end);
  }
}
