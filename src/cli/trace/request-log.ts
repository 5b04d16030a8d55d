import type { IncomingResponse, OutgoingRequest } from "../../api/client.ts";
import type { HttpRequest } from "../../api/request.ts";
import type { Host } from "../../host/host.ts";

/** One try of a request: what was asked and how it ended. */
export interface Attempt {
  readonly method: string;
  readonly url: string;
  /** ms until the headers of the answer, or until it was clear that none comes. */
  ms?: number;
  status?: number;
  /** Why no answer came. */
  failure?: string;
  /** ms waited after it before the next try. */
  waited?: number;
  /** Until the next one, and where it failed: what a report of the failure needs. */
  request?: HttpRequest | undefined;
}

/** What a command line did until it failed, for those who tell of it; the last tries only. */
export interface RequestLog {
  readonly tries: Attempt[];
  /** How many there were in all. */
  count: number;
  /** The format that the settings name for output, once they were read. */
  output?: string | undefined;
}

/** Tries that are remembered. */
const most = 10;

export const emptyRequestLog = (): RequestLog => ({ tries: [], count: 0 });

/** Sends, and adds the try to the trail. */
export async function logRequests(
  trail: RequestLog,
  { request }: OutgoingRequest,
  send: () => Promise<IncomingResponse>,
  host: Host,
): Promise<IncomingResponse> {
  const each: Attempt = { method: request.method, url: request.url, request };
  for (const before of trail.tries) if ((before.status ?? 600) < 300) before.request = undefined;
  trail.tries.push(each);
  trail.tries.splice(0, trail.tries.length - most);
  trail.count += 1;
  const started = host.now().getTime();
  try {
    const answer = await send();
    each.status = answer.status;
    return answer;
  } catch (error) {
    each.failure = error instanceof Error ? error.message : String(error);
    throw error;
  } finally {
    each.ms = host.now().getTime() - started;
  }
}
