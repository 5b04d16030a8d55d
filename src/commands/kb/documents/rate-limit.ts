import { ApiError } from "../../../errors.ts";
import type { Context } from "../../command-spec.ts";

/** Duration of a knowledge rate limit in ms (server §4). */
const rateLimitMs = 60_000;

/** Sends a request, and sends it again after a rate limit if the user chose to wait. */
export type RateLimitWaiter = <T>(request: () => Promise<T>) => Promise<T>;

/** Returns a sender that waits for rate limits if `wait` is set; it throws any other failure. */
export const waitOnRateLimit =
  (wait: boolean, context: Context): RateLimitWaiter =>
  async (request) => {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        const isTransient =
          error instanceof ApiError && error.kind === "limited" && error.info.retryable === true;
        if (!wait || !isTransient || context.signal.aborted) throw error;
        await context.notice(`${error.message}; waiting 60s`);
        await context.pause(rateLimitMs);
      }
    }
  };
