/**
 * Sends the first request of each end user alone: a server creates several end users of one name for first
 * requests side by side, and shows what belongs to one of them to no other (server §2.1).
 *
 *     first    ──► response head
 *     second                    ──► …      a stream continues meanwhile
 *     third                     ──► …
 */
export class FirstRequests {
  /** End users that the server knows. */
  readonly #known = new Set<string>();
  /** The first requests that are on their way, each until its response head. */
  readonly #sent = new Map<string, Promise<void>>();

  /**
   * Waits for the turn of a request, or for the signal; returns what to call when it has a response head
   * or failed. If the server did not take it, the next one is sent alone, too.
   */
  async enter(endUser: string, signal: AbortSignal): Promise<(isTaken: boolean) => void> {
    while (!this.#known.has(endUser) && !signal.aborted) {
      const first = this.#sent.get(endUser);
      if (!first) return this.#send(endUser);
      await before(first, signal);
    }
    return () => {};
  }

  #send(endUser: string): (isTaken: boolean) => void {
    let end = () => {};
    this.#sent.set(endUser, new Promise((resolve) => (end = resolve)));
    return (isTaken) => {
      if (isTaken) this.#known.add(endUser);
      this.#sent.delete(endUser);
      end();
    };
  }
}

/** Resolves with the promise, or when the signal is aborted. */
async function before(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => (stop = resolve));
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([promise, aborted]);
  signal.removeEventListener("abort", stop);
}
