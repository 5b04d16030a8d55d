import type { Clock } from "../../src/sandbox/protocol/handler.ts";

/** A clock of a sandbox that holds requests until a test lets them pass. */
export interface HeldClock extends Clock {
  /** Lets so many held requests pass, those included that are yet to arrive. */
  pass(count: number): void;
}

/** A delay of a fault that ends when the test says so: `POST /datasets delay=1h`. */
export const held = "delay=1h";
export const HELD_MS = 60 * 60_000;

/** Wraps a clock: the delays of `held` wait for `pass`, in the order of the requests. */
export function heldClock(clock: Clock): HeldClock {
  const waiting = new Set<() => void>();
  let passes = 0;
  const letPass = () => {
    for (const wake of [...waiting].slice(0, passes)) {
      passes--;
      waiting.delete(wake);
      wake();
    }
  };
  return {
    now: () => clock.now(),
    sleep: (ms, signal) =>
      ms !== HELD_MS
        ? clock.sleep(ms, signal)
        : new Promise((resolve, reject) => {
            if (signal?.aborted) return reject(signal.reason);
            waiting.add(resolve);
            signal?.addEventListener("abort", () => {
              waiting.delete(resolve);
              reject(signal.reason);
            });
            letPass();
          }),
    pass(count) {
      passes += count;
      letPass();
    },
  };
}
