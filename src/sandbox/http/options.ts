import type { Fault } from "../protocol/faults.ts";
import type { Clock } from "../protocol/handler.ts";
import type { ReceivedRequest } from "./read-request.ts";
import type { RequestRecord } from "../control/request-history.ts";

/** How a sandbox is started. */
export interface SandboxOptions {
  readonly clock: Clock;
  /** Random number from 0 to 1, for IDs and for orders that the server leaves open. */
  readonly random?: () => number;
  /**
   * Makes IDs and times depend on this number and the requests alone: it replaces `random`, and the
   * clock by one that starts at a fixed time.
   */
  readonly seed?: number;
  /** Existing directory of the data; null keeps them in memory. */
  readonly directory: string | null;
  /** Address to listen on (default 127.0.0.1). */
  readonly host?: string;
  /** Port (default: any free port). */
  readonly port?: number;
  /** Names that `Host` may have beside those of this machine, each with a port or for any. */
  readonly allowedHosts?: readonly string[];
  /** Server version to imitate (default 1.14.2); a fault may override it for some requests. */
  readonly server?: string;
  readonly faults?: readonly Fault[];
  /** Requests that are served at a time (default: any number); the others wait (server §20). */
  readonly connections?: number | undefined;
  /** Called with every request as received. */
  readonly onRequest?: (request: ReceivedRequest) => void;
  /** Called with every request when its response has ended. */
  readonly onResponse?: (record: RequestRecord) => void;
  /** Called with each internal error of the sandbox, and the request or run it occurred in. */
  readonly onError?: (error: unknown, where: string) => void;
  /** ms until a document is indexed (default 300). */
  readonly indexingDelay?: number;
  /** Whether the server has models (default: none, as the older recordings). */
  readonly models?: boolean;
  /** More applications, in the shape of exported ones. */
  readonly applications?: readonly unknown[];
  /** PID of this process; locks the directory against other sandboxes. */
  readonly ownPid?: number;
  readonly isAlive?: (pid: number) => boolean;
}
