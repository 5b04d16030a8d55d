/** How many requests may be sent at a time, unless the client sets it. */
export interface ConcurrencyOptions {
  /** Requests at first (default 3). */
  readonly start?: number | undefined;
  /** Maximum (default 8). */
  readonly max?: number | undefined;
}

/** Where a limit begins, and how far it may go. */
interface LimitRange {
  readonly start: number;
  readonly max: number;
}

interface AttemptEnd {
  /** The server refused it because it is busy, or did not answer. */
  readonly refused: boolean;
  /** ms until the response; undefined if they tell nothing about the server. */
  readonly ms: number | undefined;
  /** The operation: latencies are compared within one kind. */
  readonly kind: string;
}

/** A latency of no importance, in ms: shorter ones vary by chance. */
const QUICK_MS = 50;
/** Share of a slower latency that the usual one takes over: long texts and new conditions count slowly. */
const RISE = 0.01;
/** Share of a faster latency that the usual one takes over. */
const FALL = 0.25;

/**
 * How many requests may be sent at a time, by the answers of the server; it admits the tasks of maps. It grows by one after a round
 * of as many answers as it allows, if all were wanted and fewer than one of them waited at the server; it
 * is halved after a refusal, and after a round that took more than twice the usual time.
 *
 *     usual 100 ms, limit 4, answers in 120 ms: speed 0.83, 4 × (1 - 0.83) = 0.7 of them wait: grow
 *                            answers in 150 ms: speed 0.67, 1.3 of them wait: stay
 *                            answers in 250 ms: speed 0.40: halve
 */
export class AdaptiveLimit {
  #limit: number;
  readonly #range: LimitRange;
  readonly #usual = new Map<string, number>();
  /** Speeds of the answers to requests that were sent since the last change. */
  #round: number[] = [];
  #epoch = 0;
  #wanted = false;
  /** Tasks that were admitted. */
  #active = 0;
  readonly #waiting = new Set<() => void>();

  constructor(range: LimitRange) {
    this.#range = range;
    this.#limit = Math.min(range.start, range.max);
  }

  /** Requests at a time, at least one. */
  get value(): number {
    return this.#limit;
  }

  /** Notes that more requests were wanted than allowed; a limit that is not reached does not grow. */
  wantMore(): void {
    this.#wanted = true;
  }

  /** Admits a task of a map; false if it must wait: then `retry` is called when one has left. */
  enter(retry: () => void): boolean {
    if (this.#active >= this.#limit) {
      this.wantMore();
      this.#waiting.add(retry);
      return false;
    }
    this.#active++;
    return true;
  }

  /** A task has ended: those that wait may be admitted. */
  leave(): void {
    this.#active--;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const retry of waiting) retry();
  }

  /** Ends the waiting of a map. */
  forget(retry: () => void): void {
    this.#waiting.delete(retry);
  }

  /** Notes that a request is sent; returns what to call when it has ended. */
  sent(): (end: AttemptEnd) => void {
    const epoch = this.#epoch;
    return (end) => {
      // Requests that were in flight together are refused together: that counts once.
      const isCurrent = epoch === this.#epoch;
      if (end.refused) {
        if (isCurrent) this.#halve();
        return;
      }
      const speed = this.#speedOf(end);
      if (!isCurrent) return;
      this.#round.push(speed);
      if (this.#round.length >= this.#limit) this.#endRound();
    };
  }

  /** Updates the usual latency of this kind; returns the speed compared with it, at most 1. */
  #speedOf({ kind, ms }: AttemptEnd): number {
    if (ms === undefined) return 1;
    const usual = this.#usual.get(kind) ?? ms;
    this.#usual.set(kind, usual + (ms - usual) * (ms < usual ? FALL : RISE));
    return Math.min(1, Math.max(usual, QUICK_MS) / Math.max(ms, 1));
  }

  #endRound(): void {
    const speed = this.#round.reduce((sum, each) => sum + each, 0) / this.#round.length;
    this.#round = [];
    const { max } = this.#range;
    if (speed < 1 / 2) this.#halve();
    else if (speed > 1 - 1 / this.#limit && this.#wanted)
      this.#change(Math.min(max, this.#limit + 1));
    this.#wanted = false;
  }

  #halve(): void {
    this.#change(Math.ceil(this.#limit / 2));
  }

  #change(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#round = [];
    this.#epoch++;
  }
}
