import type { Clock } from "../../src/sandbox/protocol/handler.ts";

/** Real ms after which the clock is looked at again while something sleeps; no more count at once. */
const step = 5;

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/**
 * A clock that runs `speed` times faster, so that tests do not wait for seconds. The sandbox shares its
 * process with the commands that a test runs. If the machine is busy and the process gets no CPU time, the
 * clock advances by one step only, so that the sandbox does not run ahead of the commands.
 */
export function fastClock(speed: number): Clock {
  const start = Date.now();
  let [time, looked] = [start, performance.now()];
  const sleepers = new Set<Sleeper>();
  let timer: NodeJS.Timeout | undefined;

  const now = () => {
    const before = looked;
    looked = performance.now();
    const passed = Math.min(looked - before, step) * speed;
    // Commands read the real time: the clock never falls behind it.
    const real = start + (Date.now() - start) * Math.min(speed, 1);
    return (time = Math.max(time + passed, real));
  };

  const schedule = () => {
    clearTimeout(timer);
    if (sleepers.size === 0) return;
    const next = Math.min(...[...sleepers].map(({ until }) => until));
    timer = setTimeout(wakeUp, Math.min((next - now()) / speed, step));
  };

  const wakeUp = () => {
    const reached = now();
    for (const sleeper of [...sleepers].sort((a, b) => a.until - b.until)) {
      if (sleeper.until > reached) break;
      sleepers.delete(sleeper);
      sleeper.wake();
    }
    schedule();
  };

  return {
    now: () => new Date(now()),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper: Sleeper = {
          until: now() + ms,
          wake() {
            signal?.removeEventListener("abort", stop);
            resolve();
          },
        };
        const stop = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
        sleepers.add(sleeper);
        schedule();
      }),
  };
}
