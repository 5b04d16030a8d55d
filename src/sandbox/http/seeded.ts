import type { Clock } from "../protocol/handler.ts";

/** Start of the clock, and ms by which each request moves it on: times in seconds differ. */
const START = Date.parse("2026-01-01T00:00:00Z");
const STEP = 1000;

/** A clock that only requests and sleeps move on, so that it does not depend on the speed of a client. */
export interface SteppedClock extends Clock {
  /** Moves the clock on for a request. */
  step(): void;
}

/** Creates the clock; its sleeps take their real time. */
export function steppedClock(sleep: Clock["sleep"]): SteppedClock {
  let time = START;
  return {
    now: () => new Date(time),
    async sleep(ms, signal) {
      const end = time + ms;
      await sleep(ms, signal);
      time = Math.max(time, end);
    },
    step: () => void (time += STEP),
  };
}

/** Returns a generator of numbers from 0 to 1 that a seed determines (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
