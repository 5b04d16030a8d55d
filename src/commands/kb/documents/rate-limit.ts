import { ApiError } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";

/** Duration of a knowledge rate limit in ms (server §4). */
const rateLimitMs = 60_000;
/** The wait is in steps so that progress is shown. */
const stepMs = 10_000;

/** Sends a request, and sends it again after a rate limit if the user chose to wait. */
export type RateLimitWaiter = <T>(request: () => Promise<T>) => Promise<T>;

/** Returns a sender that waits for rate limits if `wait` is set: one wait for all concurrent requests. */
export function waitOnRateLimit(wait: boolean, context: Context): RateLimitWaiter {
  let waiting: Promise<void> | undefined;
  const waitOnce = async ({ message }: ApiError) => {
    await context.notice(`${message}; waiting 60s`);
    for (let ms = 0; ms < rateLimitMs; ms += stepMs) await context.pause(stepMs);
  };
  return async (request) => {
    for (;;) {
      await waiting;
      try {
        return await request();
      } catch (error) {
        const isTransient =
          error instanceof ApiError && error.kind === "limited" && error.info.retryable === true;
        if (!wait || !isTransient || context.host.signal.aborted) throw error;
        waiting ??= waitOnce(error).finally(() => (waiting = undefined));
      }
    }
  };
}
