/** Where a limit begins, and how far it may go. */
export interface LimitRange {
  readonly start: number;
  readonly max: number;
  /** Steps back at the first sign that reads take longer, to below one request at a time. */
  readonly polite?: boolean | undefined;
}

/** How an attempt to send a request ended. */
export interface AttemptEnd {
  /** The server refused it because it is busy, or did not answer. */
  readonly refused: boolean;
  /** ms until the response; undefined if they tell nothing about the server. */
  readonly ms: number | undefined;
  /** The operation: latencies are compared within one kind. */
  readonly kind: string;
  readonly isRead: boolean;
}

/** A latency of no importance, in ms: shorter ones vary by chance. */
const QUICK_MS = 50;
/** Share of a slower latency that the usual one takes over: long texts and new conditions count slowly. */
const RISE = 0.01;
/** Share of a faster latency that the usual one takes over. */
const FALL = 0.25;
/** The least limit with `polite`: one request, then seven times its duration without one. */
const MIN_POLITE = 1 / 8;

/** When a limit grows and shrinks, in the share of the usual speed that answers have. */
const rules = {
  normal: { growAbove: (limit: number) => 1 - 1 / limit, shrinkBelow: 1 / 2 },
  polite: { growAbove: () => 4 / 5, shrinkBelow: 2 / 3 },
} as const;

/**
 * How many requests may be sent at a time, by the answers of the server. It grows by one after a round
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

  constructor(range: LimitRange) {
    this.#range = range;
    this.#limit = Math.min(range.start, range.max);
  }

  /** Below 1 it is the share of the time in which one request may be in flight. */
  get value(): number {
    return this.#limit;
  }

  /** Whole requests at a time, at least one. */
  get whole(): number {
    return Math.max(1, Math.floor(this.#limit));
  }

  /** Notes that more requests were wanted than allowed; a limit that is not reached does not grow. */
  wantMore(): void {
    this.#wanted = true;
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
      if (!isCurrent || (this.#range.polite && !end.isRead)) return;
      this.#round.push(speed);
      if (this.#round.length >= this.whole) this.#endRound();
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
    const { growAbove, shrinkBelow } = this.#range.polite ? rules.polite : rules.normal;
    if (speed < shrinkBelow) this.#halve();
    else if (speed > growAbove(this.#limit) && this.#wanted) this.#grow();
    this.#wanted = false;
  }

  #grow(): void {
    const { max } = this.#range;
    this.#change(this.#limit < 1 ? this.#limit * 2 : Math.min(max, this.#limit + 1));
  }

  #halve(): void {
    const half = this.#limit / 2;
    this.#change(this.#range.polite && half < 1 ? Math.max(MIN_POLITE, half) : Math.ceil(half));
  }

  #change(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#round = [];
    this.#epoch++;
  }
}
