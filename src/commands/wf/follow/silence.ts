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
export class SilenceWatch {
  private readonly options: SilenceOptions;
  private readonly host: Host;
  private readonly stopped = new AbortController();
  private lastEventAt: number;
  private isPaused = false;
  private wake = () => {};

  constructor(options: SilenceOptions, host: Host) {
    this.options = options;
    this.host = host;
    this.lastEventAt = host.elapsed();
    // Fails only when the stream is closed or the process is interrupted, which the stream reports.
    this.watch().catch(() => {});
  }

  /** Call when events arrived, while they are processed. */
  pause(): void {
    this.isPaused = true;
  }

  /** Call when waiting for the next event. */
  resume(): void {
    this.isPaused = false;
    this.lastEventAt = this.host.elapsed();
    this.wake();
  }

  stop(): void {
    this.stopped.abort();
    this.wake();
  }

  private async watch(): Promise<void> {
    const { host } = this;
    const { signal } = this.stopped;
    let since = this.lastEventAt;
    let interval = FIRST_CHECK;
    let checkAt = since + interval;
    let suspected = false;
    let noticeAfter = FIRST_NOTICE;
    while (!signal.aborted) {
      if (this.isPaused) await new Promise<void>((resolve) => (this.wake = resolve));
      if (this.lastEventAt !== since) {
        since = this.lastEventAt;
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
      const status = await this.options.contradiction(signal);
      if (signal.aborted || this.isPaused || this.lastEventAt !== since) continue;
      if (status !== undefined && suspected) return this.options.leave(status);
      suspected = status !== undefined;
      interval = Math.min(MAX_CHECK, interval * 1.5);
      checkAt = host.elapsed() + (suspected ? GRACE : interval);
      const silence = host.elapsed() - since;
      if (suspected || silence < noticeAfter) continue;
      noticeAfter *= 5;
      await this.options.report(Math.round(silence / 1000));
    }
  }
}
