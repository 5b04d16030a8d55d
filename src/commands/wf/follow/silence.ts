import type { Context } from "../../command-spec.ts";

/** ms without an event after which the run's record is read, and the longest time between two readings. */
const first = 2000;
const longest = 15_000;
/** ms that an event may come after what the record says of it. */
const grace = 1000;
/** ms of silence after which a notice says so; each further one comes after five times as long. */
const remarkable = 60_000;

/** Watches an open event stream of a run for silence. */
export interface SilenceWatch {
  /** Events came, and are worked on: until the next ones are waited for, silence means nothing. */
  hold(): void;
  /** From now on the next event is waited for. */
  heard(): void;
  /** The stream is read no longer. */
  end(): void;
}

/** What a silence watch asks and does. */
interface Silence {
  /** The status that the run's record gives where the stream has said something else. */
  contradiction(signal: AbortSignal): Promise<string | undefined>;
  /** Ends the stream, whatever it is waiting for. */
  leave(status: string): void;
  /** Called rarely, with the seconds for which nothing came although nothing seems lost. */
  still(seconds: number): Promise<void>;
}

/**
 * Pings are no sign of life: on some servers a listener that leaves a run silences all the others,
 * which hear only pings from then on although the run continues and ends (server §15.7). So a stream
 * without an event for two seconds has the run's record read, then less and less often, at least
 * every 15 s. It is left only when the record contradicts what the stream has said (the run has
 * ended, or is paused, or has resumed) and no event says so within a second.
 *
 * While both say that the run is running, the stream is kept: a slow node looks the same, and leaving
 * would silence the other listeners, those of the next connection included, and lose the text of a
 * stream that is well. What a silenced one misses comes with a snapshot when the server closes it
 * after five minutes, or with the end, and is announced as a gap either way.
 */
export function silenceWatch(
  { contradiction, leave, still }: Silence,
  { host }: Pick<Context, "host">,
): SilenceWatch {
  const ended = new AbortController();
  let heardAt = host.elapsed();
  let held = false;
  let release = () => {};

  const watch = async () => {
    let since = heardAt;
    let wait = first;
    let due = since + wait;
    let suspected = false;
    let remarkAfter = remarkable;
    while (!ended.signal.aborted) {
      if (held) await new Promise<void>((resolve) => (release = resolve));
      if (heardAt !== since) {
        since = heardAt;
        [wait, due, suspected, remarkAfter] = [first, since + first, false, remarkable];
      }
      const left = due - host.elapsed();
      if (left > 0) {
        await host.sleep(left, ended.signal);
        continue;
      }
      const before = heardAt;
      const unsaid = await contradiction(ended.signal);
      if (ended.signal.aborted || held || heardAt !== before) continue;
      if (unsaid !== undefined && suspected) return leave(unsaid);
      suspected = unsaid !== undefined;
      wait = Math.min(longest, wait * 1.5);
      due = host.elapsed() + (suspected ? grace : wait);
      const silent = host.elapsed() - since;
      if (suspected || silent < remarkAfter) continue;
      remarkAfter *= 5;
      await still(Math.round(silent / 1000));
    }
  };
  // It ends with the stream, or where this process is interrupted: the stream tells that by itself.
  watch().catch(() => {});

  return {
    hold() {
      held = true;
    },
    heard() {
      held = false;
      heardAt = host.elapsed();
      release();
    },
    end() {
      ended.abort();
      release();
    },
  };
}
