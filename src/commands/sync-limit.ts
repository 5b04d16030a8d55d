import { ApiError } from "../errors.ts";
import type { Context } from "./task.ts";

/** ms that a knowledge rate limit lasts (server §4). */
const limitLasts = 60_000;

/** Carries out a request, again after a rate limit where that is to be waited for. */
export type Patience = <T>(request: () => Promise<T>) => Promise<T>;

/** Patience for limits that pass, if `wait` says so; any other failure is thrown. */
export const patience =
  (wait: boolean, context: Context): Patience =>
  async (request) => {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        const passes =
          error instanceof ApiError && error.kind === "limited" && error.told.retryable === true;
        if (!wait || !passes || context.signal.aborted) throw error;
        await context.notice(`${error.message}; waiting a minute`);
        await context.host.sleep(limitLasts, context.signal).catch(() => {
          throw context.interrupted();
        });
      }
    }
  };
