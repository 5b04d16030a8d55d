/** Delays between the attempts of one kind of work, in ms: each is `factor` times the one before. */
interface Delays {
  readonly first: number;
  readonly max: number;
  readonly factor: number;
}

/** The delays of everything that is retried or polled. */
export const delays = {
  /** A request, an event stream or a poll that failed (server §20). */
  retry: { first: 500, max: 30_000, factor: 2 },
  /** The status of documents (server §9.6). */
  indexing: { first: 300, max: 2000, factor: 2 },
  /** A search of an index that was rebuilt: a worker starts late. */
  search: { first: 2000, max: 2000, factor: 1 },
  /** A job of annotation replies. */
  job: { first: 300, max: 2000, factor: 2 },
  /** A question to a model that limits its rate, mostly per minute. */
  model: { first: 5000, max: 30_000, factor: 2 },
  /** The record of a run. */
  run: { first: 500, max: 10_000, factor: 1.5 },
  /** The record of a run that was stopped. */
  stop: { first: 300, max: 300, factor: 1 },
  /** The stored message after its stream was lost. */
  message: { first: 500, max: 2000, factor: 2 },
  /** The log of runs that is followed. */
  logs: { first: 2000, max: 2000, factor: 1 },
  /** A lock that another process holds. */
  lock: { first: 50, max: 50, factor: 1 },
} as const satisfies Record<string, Delays>;

/** The delay after an attempt in ms; attempts count from 0. */
export const backoff = (attempt: number, { first, max, factor }: Delays): number =>
  Math.min(max, first * factor ** attempt);

interface Polling {
  readonly every: Delays;
  /** Maximum number of checks. */
  readonly giveUpAfter?: number;
  /** Waits for some ms; what it throws ends the polling. */
  readonly pause: (ms: number) => Promise<void>;
}

/** Checks until there is a result, and returns it; undefined if there is none after the last check. */
export async function poll<T>(
  check: () => Promise<T | undefined>,
  { every, giveUpAfter = Infinity, pause }: Polling,
): Promise<T | undefined> {
  for (let attempt = 0; ; attempt++) {
    const result = await check();
    if (result !== undefined || attempt + 1 >= giveUpAfter) return result;
    await pause(backoff(attempt, every));
  }
}
