interface Happening {
  readonly due: number;
  readonly run: () => void;
  /** Programs do not wait for it. */
  readonly isBackground: boolean;
}

/** Limits of a run: what needs more never ends. */
const MAX_EVENTS = 200_000;
const MAX_TIME_MS = 14 * 24 * 3_600_000;

/** Lets everything run that is ready, up to the next step outside a program. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Does a program let others run before it continues long work, or wait for a thread? */
const isYielding = () =>
  process.getActiveResourcesInfo().some((kind) => kind === "Immediate" || kind === "MessagePort");

/**
 * Virtual time: nothing takes time but what waits here, and what is due next happens next. Waits have
 * drawn durations, so they decide the order of everything.
 */
export class Timeline {
  /** ms since the start. */
  time = 0;
  events = 0;
  /** Steps that were taken; as long as it changes, programs are running. */
  #steps = 0;
  /** Work outside this thread that the timeline waits for. */
  #external = 0;
  readonly #waiting = new Set<Happening>();

  /**
   * Resolves after `ms`. Rejects with the reason of the signal if that is aborted before. If nothing but
   * background work is left, programs wait for ever.
   */
  wait(ms: number, signal?: AbortSignal, kind?: "background"): Promise<void> {
    this.#steps++;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        this.#waiting.delete(happening);
        reject(signal?.reason);
      };
      const run = () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      const happening = { due: this.time + ms, run, isBackground: kind === "background" };
      this.#waiting.add(happening);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  /** Awaits work that this thread does not do alone, such as reading a Blob: no time passes meanwhile. */
  async external<T>(work: Promise<T>): Promise<T> {
    this.#external++;
    try {
      return await work;
    } finally {
      this.#external--;
      this.#steps++;
    }
  }

  /** Lets time pass until the work is done. Throws if it can never be done. */
  async until<T>(work: Promise<T>, waitingFor: () => string): Promise<T> {
    let isOpen = true;
    const close = () => void (isOpen = false);
    work.then(close, close);
    for (;;) {
      await this.#settle();
      if (!isOpen) return work;
      const next = this.#next();
      if (!next) throw new Error(`waits for ever: ${waitingFor()}`);
      this.#waiting.delete(next);
      this.time = next.due;
      if (++this.events > MAX_EVENTS || this.time > MAX_TIME_MS)
        throw new Error(`does not end: ${waitingFor()}`);
      next.run();
    }
  }

  async #settle(): Promise<void> {
    for (let before = -1; before !== this.#steps || this.#external > 0 || isYielding();) {
      before = this.#steps;
      await settled();
      await settled();
    }
  }

  #next(): Happening | undefined {
    let next: Happening | undefined;
    let isLeft = false;
    for (const each of this.#waiting) {
      isLeft ||= !each.isBackground;
      if (!next || each.due < next.due) next = each;
    }
    return isLeft ? next : undefined;
  }
}
