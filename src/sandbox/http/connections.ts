/** The connections of a worker: so many requests are served at a time, the others wait in order. */
export class Connections {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Resolves when the request is served; its connection is free again when the signal is aborted. */
  enter(ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const start = () => {
        this.#waiting.delete(start);
        this.#free--;
        resolve();
      };
      ended.addEventListener("abort", () => {
        if (this.#waiting.delete(start)) return; // its client has left before
        this.#free++;
        for (const next of this.#waiting) if (this.#free > 0) next();
      });
      if (this.#free > 0) start();
      else this.#waiting.add(start);
    });
  }
}
