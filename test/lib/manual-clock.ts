import type { Clock } from "../../src/sandbox/protocol/handler.ts";
import { turns } from "./turns.ts";

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Advances the time; sleepers wake in order and may sleep again. */
  advance(ms: number): Promise<void>;
  /** Advances the time until a promise is settled, and returns its value. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Resolves as soon as a sleep of exactly `ms` starts. */
  asleep(ms: number): Promise<void>;
}

interface Sleeper {
  readonly ms: number;
  readonly until: number;
  readonly wake: () => void;
}

export function manualClock(start = "2026-11-21T00:00:00Z"): ManualClock {
  let time = Date.parse(start);
  const sleepers = new Set<Sleeper>();
  const watchers = new Set<{ readonly ms: number; readonly seen: () => void }>();

  return {
    now: () => new Date(time),

    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const stop = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        const wake = () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        };
        const sleeper: Sleeper = { ms, until: time + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", stop);
        for (const watcher of [...watchers].filter((each) => each.ms === ms)) {
          watchers.delete(watcher);
          watcher.seen();
        }
      }),

    async advance(ms) {
      const end = time + ms;
      for (;;) {
        await turns();
        const [next] = [...sleepers].sort((a, b) => a.until - b.until);
        if (!next || next.until > end) break;
        sleepers.delete(next);
        time = next.until;
        next.wake();
      }
      time = end;
    },

    async until(promise) {
      let pending = true;
      const settle = () => void (pending = false);
      promise.then(settle, settle);
      while (pending) await this.advance(10);
      return promise;
    },

    asleep: (ms) =>
      new Promise((resolve) => {
        if ([...sleepers].some((sleeper) => sleeper.ms === ms)) return resolve();
        watchers.add({ ms, seen: resolve });
      }),
  };
}
