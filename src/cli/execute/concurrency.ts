import { join } from "node:path";
import type { AttemptResult, SendOptions } from "../../api/client.ts";
import { AdaptiveLimit } from "../../api/adaptive-limit.ts";
import { PoliteReads } from "../../api/polite-reads.ts";
import { ConcurrencyLimiter } from "../../api/concurrency-limiter.ts";
import type { ConcurrencyOptions, Context } from "../../commands/command-spec.ts";
import type { Settings } from "../../config/settings.ts";
import type { Host } from "../../host/host.ts";
import { SharedSlots } from "../../host/shared-slots.ts";
import { retryOf } from "../../operations/operation.ts";
import type { Options } from "../parse/options.ts";

/** Requests at a time at first, and at most without --concurrency. */
const DEFAULT_START = 3;
const DEFAULT_MAX = 8;
/** Connections that a default server handles (server §20): all processes of a user share them. */
const CONNECTIONS = 10;
/** Those that streams leave for short requests: a stream holds its connection for minutes. */
const NOT_FOR_STREAMS = 2;

interface Surroundings {
  readonly options: Options;
  readonly host: Host;
  readonly settings: () => Promise<Settings>;
  readonly trace: Context["trace"];
}

/**
 * The parallel requests of one command. Its limits watch all of its requests; the slots that it shares
 * with other processes are only looked for once tasks run at a time, so that a single request costs no
 * file.
 */
export function concurrencyOf({ options, host, settings, trace }: Surroundings) {
  const limiters: ConcurrencyLimiter[] = [];
  const polite = options.globals.polite === true;
  let slots: SharedSlots | undefined;
  const sharedSlots = (total: number) =>
    new SharedSlots(
      {
        total: Math.max(total, options.concurrency ?? 0),
        directory: async () => directoryOf((await settings()).baseUrl.value ?? "", host),
        onUnavailable: (reason) =>
          trace(1, `connections are not shared with other processes: ${reason}`),
      },
      host,
    );
  return {
    /** A limit for the tasks of a map. */
    limit({ start = DEFAULT_START, max, streams }: ConcurrencyOptions = {}): ConcurrencyLimiter {
      slots ??= sharedSlots(streams ? CONNECTIONS - NOT_FOR_STREAMS : CONNECTIONS);
      const limit = new AdaptiveLimit({
        start: polite ? 1 : start,
        max: options.concurrency ?? max ?? DEFAULT_MAX,
        polite,
      });
      const sleep = (ms: number) => host.sleep(ms, host.signal);
      const limiter = new ConcurrencyLimiter({
        limit,
        places: slots,
        elapsed: host.elapsed,
        sleep,
      });
      limiters.push(limiter);
      return limiter;
    },
    /** Repeats reads while only writes are sent; undefined without --polite. */
    reads: polite
      ? new PoliteReads({
          elapsed: host.elapsed,
          sent() {
            const reports = limiters.map((limiter) => limiter.sent());
            return (ms) => {
              const end = { kind: "repeated read", isRead: true, refused: ms === undefined, ms };
              for (const report of reports) report(end);
            };
          },
        })
      : undefined,
    /** Watches an attempt to send a request. */
    onAttempt(sending: SendOptions): (result: AttemptResult) => void {
      if (limiters.length === 0) return () => {};
      const reports = limiters.map((limiter) => limiter.sent());
      const started = host.elapsed();
      return ({ refused, retryAfter = 0 }) => {
        const ms = waitsForModel(sending) ? undefined : host.elapsed() - started;
        const end = { ...kindOf(sending), refused, ms };
        for (const report of reports) report(end);
        if (refused && retryAfter > 0) void slots?.pause(retryAfter);
      };
    },
    /** Gives back what is shared. */
    close: async () => slots?.close(),
  };
}

const kindOf = ({ row }: SendOptions) => ({
  kind: row?.id ?? "",
  isRead: row !== undefined && retryOf(row) === "safe",
});

/** Does the server answer when a model is done, which may take minutes (server §20)? */
const waitsForModel = ({ row }: SendOptions): boolean => (row?.idleTimeout ?? 0) > 60;

/** The directory of a server; a state directory belongs to one user of one machine. */
const directoryOf = (baseUrl: string, { directories }: Host): string =>
  join(directories.state, "connections", encodeURIComponent(new URL(baseUrl).host));
