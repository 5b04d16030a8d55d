import type { AdaptiveLimit, AttemptEnd } from "./adaptive-limit.ts";

/** A place that a task has taken. */
export interface Place {
  /** Leaves it: the next task may take it. */
  leave(): void;
}

/** Admits the tasks of maps: as many at a time as the limit allows. */
export class ConcurrencyLimiter {
  readonly #limit: AdaptiveLimit;
  #active = 0;
  readonly #waiting = new Set<() => void>();

  constructor(limit: AdaptiveLimit) {
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit.value;
  }

  /** Notes that a request is sent, by whatever task; returns what to call when it has ended. */
  sent(): (end: AttemptEnd) => void {
    return this.#limit.sent();
  }

  /** Admits a task; undefined if it must wait: then `retry` is called when it may be admitted. */
  enter(retry: () => void): Place | undefined {
    if (this.#active >= this.#limit.value) {
      this.#limit.wantMore();
      this.#waiting.add(retry);
      return undefined;
    }
    this.#active++;
    return { leave: () => void this.#active-- };
  }

  /** Ends the waiting of a map. */
  forget(retry: () => void): void {
    this.#waiting.delete(retry);
  }

  /** Lets other maps start tasks after one has ended. */
  settle(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const retry of waiting) retry();
  }
}
