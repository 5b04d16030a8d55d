import type { AttemptResult, SendOptions } from "../../api/client.ts";
import { AdaptiveLimit } from "../../api/adaptive-limit.ts";
import { ConcurrencyLimiter } from "../../api/concurrency-limiter.ts";
import type { ConcurrencyOptions } from "../../commands/command-spec.ts";
import type { Host } from "../../host/host.ts";
import type { Options } from "../parse/options.ts";

/** Requests at a time at first, and at most without --concurrency (server §4). */
const DEFAULT_START = 3;
const DEFAULT_MAX = 8;

interface Surroundings {
  readonly options: Options;
  readonly host: Host;
}

/** The parallel requests of one command. Its limits watch all of its requests. */
export function concurrencyOf({ options, host }: Surroundings) {
  const limiters: ConcurrencyLimiter[] = [];
  return {
    /** A limit for the tasks of a map. */
    limit({ start = DEFAULT_START, max }: ConcurrencyOptions = {}): ConcurrencyLimiter {
      const range = { start, max: options.concurrency ?? max ?? DEFAULT_MAX };
      const limiter = new ConcurrencyLimiter(new AdaptiveLimit(range));
      limiters.push(limiter);
      return limiter;
    },
    /** Watches an attempt to send a request. */
    onAttempt(sending: SendOptions): (result: AttemptResult) => void {
      if (limiters.length === 0) return () => {};
      const reports = limiters.map((limiter) => limiter.sent());
      const started = host.elapsed();
      return ({ refused }) => {
        const ms = waitsForModel(sending) ? undefined : host.elapsed() - started;
        for (const report of reports) report({ kind: sending.row?.id ?? "", refused, ms });
      };
    },
  };
}

/** Does the server answer when a model is done, which may take minutes (server §20)? */
const waitsForModel = ({ row }: SendOptions): boolean => (row?.idleTimeout ?? 0) > 60;
