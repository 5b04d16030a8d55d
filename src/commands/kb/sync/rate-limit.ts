import { ApiError } from "../../../errors.ts";
import type { Context } from "../../command-spec.ts";

/** ms that a knowledge rate limit lasts (server §4). */
const limitLasts = 60_000;

/** Carries out a request, again after a rate limit where that is to be waited for. */
export type RateLimitWaiter = <T>(request: () => Promise<T>) => Promise<T>;

/** Patience for limits that pass, if `wait` says so; any other failure is thrown. */
export const waitOnRateLimit =
  (wait: boolean, context: Context): RateLimitWaiter =>
  async (request) => {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        const passes =
          error instanceof ApiError && error.kind === "limited" && error.info.retryable === true;
        if (!wait || !passes || context.signal.aborted) throw error;
        await context.notice(`${error.message}; waiting a minute`);
        await context.host.sleep(limitLasts, context.signal).catch(() => {
          throw context.abortError();
        });
      }
    }
  };
