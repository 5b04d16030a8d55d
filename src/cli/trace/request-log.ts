import type { HttpRequest } from "../../api/request.ts";

/** One attempt to send a request, and its outcome. */
export interface Attempt {
  readonly method: string;
  readonly url: string;
  /** ms until the response headers or the failure. */
  ms?: number;
  status?: number;
  /** Why the attempt got no response. */
  failure?: string;
  /** ms waited before the next attempt. */
  waited?: number;
  /** Kept until the next attempt, or longer if this one failed, for error reports. */
  request?: HttpRequest | undefined;
}

/** Log of the last request attempts, for error reports. */
export interface RequestLog {
  readonly attempts: Attempt[];
  /** Number of all attempts. */
  count: number;
  /** The output format of the settings, once they are read. */
  output?: string | undefined;
  /** Names as entered, by the IDs that they were resolved to; hints show them. */
  readonly names: Map<string, string>;
}

/** Attempts that the log holds. */
export const MAX_ATTEMPTS = 10;

/** A log without attempts. */
export const emptyRequestLog = (): RequestLog => ({ attempts: [], count: 0, names: new Map() });
