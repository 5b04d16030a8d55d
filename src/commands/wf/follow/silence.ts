import type { Host } from "../../../host/host.ts";

/** ms without an event until the run's record is read; grows by half each time. */
const FIRST_CHECK = 2000;
const MAX_CHECK = 15_000;
/** ms that the stream has to catch up with the record. */
const GRACE = 1000;
/** ms of silence until the first notice; the next ones come after five times as long. */
const FIRST_NOTICE = 60_000;

interface SilenceOptions {
  /** Reads the run's record; returns its status if it contradicts the stream. */
  readonly contradiction: (signal: AbortSignal) => Promise<string | undefined>;
  /** Closes the stream. */
  readonly leave: (status: string) => void;
  /** Reports a long silence that nothing contradicts. */
  readonly report: (seconds: number) => Promise<void>;
}

/** The watch of a stream: call `pause` while events are processed, `resume` to wait for the next one. */
export type SilenceWatch = ReturnType<typeof watchSilence>;

/**
 * Watches a stream for silence. Pings are no sign of life: on some servers, a listener that leaves a
 * run silences all others, which then receive only pings although the run continues and ends (server
 * §15.7). So after two seconds without an event the run's record is read, then less and less often,
 * at least every 15 s. The stream is left only when the record contradicts it (the run has ended, is
 * paused, or has resumed) and no such event arrives within a second.
 *
 * While the stream and the record agree, the stream is kept: a slow node looks the same, and leaving
 * would silence other listeners, including those of the next connection, and lose text. What a
 * silenced stream misses comes with a snapshot when the server closes it after five minutes, or with
 * the end of the run; either way a gap is announced.
 */
export function watchSilence({ contradiction, leave, report }: SilenceOptions, host: Host) {
  const stopped = new AbortController();
  const { signal } = stopped;
  let lastEventAt = host.elapsed();
  let isPaused = false;
  let wake = () => {};
  const watch = async (): Promise<void> => {
    let since = NaN;
    let [interval, checkAt, suspected, noticeAfter] = [0, 0, false, 0];
    while (!signal.aborted) {
      if (isPaused) await new Promise<void>((resolve) => (wake = resolve));
      if (lastEventAt !== since) {
        since = lastEventAt;
        interval = FIRST_CHECK;
        checkAt = since + interval;
        suspected = false;
        noticeAfter = FIRST_NOTICE;
      }
      const remaining = checkAt - host.elapsed();
      if (remaining > 0) {
        await host.sleep(remaining, signal);
        continue;
      }
      const status = await contradiction(signal);
      if (signal.aborted || isPaused || lastEventAt !== since) continue;
      if (status !== undefined && suspected) return leave(status);
      suspected = status !== undefined;
      interval = Math.min(MAX_CHECK, interval * 1.5);
      checkAt = host.elapsed() + (suspected ? GRACE : interval);
      const silence = host.elapsed() - since;
      if (suspected || silence < noticeAfter) continue;
      noticeAfter *= 5;
      await report(Math.round(silence / 1000));
    }
  };
  // Fails only when the stream is closed or the process is interrupted, which the stream reports.
  watch().catch(() => {});
  return {
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      lastEventAt = host.elapsed();
      wake();
    },
    stop() {
      stopped.abort();
      wake();
    },
  };
}
