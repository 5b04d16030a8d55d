import type { IncomingResponse, OutgoingRequest } from "./client.ts";

/** ms without a read after which one is repeated. */
const READ_EVERY_MS = 2000;

/** A read that can be repeated, with the ms until its response. */
interface KnownRead {
  readonly ms: number;
  readonly send: () => Promise<IncomingResponse>;
}

/** What reads are watched with. */
interface Watch {
  readonly elapsed: () => number;
  /** Notes that a read is sent; returns what to call with the ms until its response, if there was one. */
  readonly sent: () => (ms: number | undefined) => void;
}

/**
 * The reads that `--polite` watches. While a command only writes, its quickest read is repeated every two
 * seconds before a write, so that a slower server is noticed.
 */
export class PoliteReads {
  readonly #watch: Watch;
  #quickest: KnownRead | undefined;
  #lastAt = -Infinity;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Sends a request, and before it perhaps a read. */
  async exchange(
    { request }: OutgoingRequest,
    send: () => Promise<IncomingResponse>,
  ): Promise<IncomingResponse> {
    const { elapsed } = this.#watch;
    if (request.method !== "GET") {
      if (this.#quickest && elapsed() - this.#lastAt > READ_EVERY_MS)
        await this.#repeat(this.#quickest);
      return send();
    }
    const start = elapsed();
    const response = await send();
    this.#lastAt = elapsed();
    const ms = this.#lastAt - start;
    const isJson = response.headers["content-type"]?.includes("json") === true;
    if (response.status === 200 && isJson && ms < (this.#quickest?.ms ?? Infinity))
      this.#quickest = { ms, send };
    return response;
  }

  /** The command continues if it fails. */
  async #repeat({ send }: KnownRead): Promise<void> {
    const { elapsed, sent } = this.#watch;
    const start = (this.#lastAt = elapsed());
    const report = sent();
    try {
      const response = await send();
      report(response.status === 200 ? elapsed() - start : undefined);
      for await (const _ of response.body); // to its end, so that the connection can be reused
    } catch {
      report(undefined);
    }
  }
}
