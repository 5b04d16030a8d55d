import { reasonOf } from "../../../errors.ts";
import { isPublicAddress } from "../../../lib/addresses.ts";
import { attempt } from "../../../lib/json.ts";
import type { Context } from "../../task/command-spec.ts";
import { plainSender } from "../../task/plain-sender.ts";
import { bytesFrom, sourceError } from "./program.ts";
import { MAX_CONTENT } from "./program-source.ts";
import type { SourceOptions } from "./source.ts";

/** A response with its whole body. */
export interface Fetched {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Uint8Array;
  /** Did only permanent redirects lead to it? */
  readonly isMoved: boolean;
}

/** ms between two requests to a host, and ms without a byte after which a request fails. */
const INTERVAL_MS = 100;
const IDLE_MS = 30_000;
/** Attempts of a request, ms before the second one, and the longest that a host may ask for. */
const ATTEMPTS = 3;
const DELAY_MS = 1000;
const MAX_DELAY_MS = 60_000;
/** ms from which a wait is said. */
const NOTICED_MS = 5000;
/** Failures in a row after which nothing more is requested. */
const MAX_FAILURES = 10;
const MAX_REDIRECTS = 5;

type Response = Omit<Fetched, "isMoved">;

export const USER_AGENT = "kb-wf";

export type Fetcher = ReturnType<typeof newFetcher>;

/** Sends requests to one host, politely: one after the other, and later if the host asks for it. */
export function newFetcher(origin: string, context: Context, options: SourceOptions) {
  const { host } = context;
  const { hostname } = new URL(origin);
  let interval = isPublicAddress(hostname) ? INTERVAL_MS : 0;
  let next = 0;
  let failures = 0;
  const send = connectionTo(hostname, context, options);
  /** Says how long a host makes us wait, and what for; no host may ask for more than the maximum. */
  const delayFor = async (ms: number, why: string): Promise<number> => {
    const delay = Math.min(MAX_DELAY_MS, ms);
    const asked = ms > delay ? ` of the ${Math.round(ms / 1000)} s` : "";
    if (delay > NOTICED_MS)
      await context.notice(`waiting ${delay / 1000} s${asked} that ${hostname} asks for ${why}`);
    return delay;
  };
  const once = async (url: string, headers: Readonly<Record<string, string>>) => {
    const now = host.elapsed();
    const start = Math.max(now, next);
    next = start + interval;
    if (start > now) await context.pause(start - now);
    return send(url, headers);
  };
  const tried = async (
    url: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> => {
    for (let count = 1; ; count++) {
      const isLast = count === ATTEMPTS;
      let asked: number | undefined;
      try {
        const response = await once(url, headers);
        if (![429, 500, 502, 503, 504].includes(response.status) || isLast) return response;
        asked = secondsIn(response.headers["retry-after"]) * 1000;
      } catch (error) {
        if (host.signal.aborted) throw context.abortError();
        if (isLast) throw sourceError(reasonOf(error));
      }
      const delay = asked
        ? await delayFor(asked, "before it is asked again")
        : DELAY_MS * 2 ** (count - 1);
      next = Math.max(next, host.elapsed() + delay);
    }
  };
  return {
    /** Waits longer between requests, as robots.txt asks for; in seconds. */
    async slowDown(seconds: number): Promise<void> {
      interval = Math.max(interval, await delayFor(seconds * 1000, "between requests"));
    },
    /** Follows redirects on the same host if `follow` allows the target. Throws failure without a response. */
    async get(
      url: string,
      headers: Readonly<Record<string, string>> = {},
      follow: (target: string) => boolean = () => true,
    ): Promise<Fetched> {
      let isMoved = true;
      for (let at = url, redirects = 0; ; redirects++) {
        if (failures >= MAX_FAILURES)
          throw sourceError(`not requested, because ${MAX_FAILURES} requests in a row failed`);
        const response = await tried(at, headers).catch((error: unknown) => {
          failures++;
          throw error;
        });
        failures = response.status >= 500 || response.status === 429 ? failures + 1 : 0;
        const { location } = response.headers;
        if (![301, 302, 303, 307, 308].includes(response.status) || location === undefined)
          return { ...response, isMoved };
        isMoved &&= response.status === 301 || response.status === 308;
        const target = attempt(() => new URL(location, at));
        if (!target) throw sourceError("redirected to an invalid address");
        target.hash = "";
        const isSame = target.origin === origin && redirects < MAX_REDIRECTS && follow(target.href);
        if (!isSame) throw sourceError(`redirected to ${target.href.slice(0, 200)}`);
        at = target.href;
      }
    },
  };
}

/** Sends single requests to a host. */
function connectionTo(hostname: string, context: Context, options: SourceOptions) {
  const publicOnly = isPublicAddress(hostname) && options.isPrivate !== true;
  const send = plainSender({ connectTimeout: 10_000, publicOnly }, IDLE_MS, context);
  return async (url: string, given: Readonly<Record<string, string>>) => {
    const headers = {
      "user-agent": USER_AGENT,
      "accept-encoding": "gzip, deflate",
      ...given,
      ...(options.authorization !== undefined && { authorization: options.authorization }),
    };
    const request = { method: "GET", url, headers } as const;
    const { status, headers: received, body } = await send(request);
    return { url, status, headers: received, bytes: await bytesFrom(body, MAX_CONTENT) };
  };
}

const secondsIn = (text = ""): number => (/^\d+$/.test(text) ? Number(text) : 0);
