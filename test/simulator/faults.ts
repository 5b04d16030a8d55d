import { draw } from "./random.ts";

/** How often each kind of fault happens, at each place where it can. */
const rates = {
  /** The process ends at a step outside itself, which does not happen. */
  kill: 0.004,
  /** The parent of a killed process does not wait for it: it stays in the process table. */
  zombie: 0.3,
  /** Ctrl-Z: the process does nothing for a while, and keeps what it has. */
  stop: 0.002,
  /** The machine loses power, with all that was not flushed to its disk. */
  power: 0.002,
  /** Ctrl-C. */
  interrupt: 0.001,
  /** The clock of the machine jumps; its monotonic one does not. */
  "clock jump": 0.003,
  /** A write finds the disk full. */
  "full disk": 0.02,
  /** A write or flush fails because of the disk. */
  "io error": 0.003,
  /** No connection. */
  refused: 0.01,
  /** The connection is reset before, or after, the server handles the request. */
  "reset before": 0.02,
  "reset after": 0.02,
  /** The application rejects the request unhandled. */
  "429": 0.02,
  "503": 0.02,
  /** A proxy rejects the request before, or after, the server handles it. */
  "502 before": 0.02,
  "502 after": 0.01,
  "503 after": 0.01,
  "504 after": 0.02,
  /** No byte comes, and the request was not, or was, handled. */
  "silence before": 0.005,
  "silence after": 0.01,
  /** The line is reset, or silent, in the middle of the body. */
  "half body": 0.02,
  "silent body": 0.01,
  /** A ZIP is cut off, or has a wrong byte, although the transfer was fine. */
  "broken ZIP": 0.2,
  /** A proxy passes a stream of events on in blocks, which end anywhere, or all of it with its headers at the end. */
  "held body": 0.15,
  "held response": 0.05,
  /** Lists of documents lack one of those that they count, several times. */
  "short list": 0.02,
  /** The server takes long. */
  delay: 0.03,
  /** The server ends, with all that it has not stored, and starts again. */
  "restart before": 0.004,
  "restart after": 0.006,
} as const satisfies Record<string, number>;

export type FaultKind = keyof typeof rates;

/** How much of each kind a seed has: none, few or many. */
const intensities = [0, 0, 0.5, 1, 1, 3];

/**
 * Decides where faults happen. Each possible place has a name, such as `reset after @ sync 1: GET /datasets
 * 2`; the seed and the name decide. A run is repeated with a list of those names instead.
 */
export class FaultPlan {
  /** The faults that happened, in order. */
  readonly happened: string[] = [];
  /** No faults from here on. */
  isOver = false;
  readonly #seed: number;
  readonly #listed: ReadonlySet<string> | undefined;

  constructor(seed: number, listed: readonly string[] | undefined) {
    this.#seed = seed;
    this.#listed = listed && new Set(listed);
  }

  /** Does this fault happen at this place? */
  strikes(kind: FaultKind, place: string): boolean {
    return this.happens(kind, place, rates[kind] * this.#intensity(kind));
  }

  /** The same for what only a scenario knows, with its probability. */
  happens(kind: string, place: string, probability: number): boolean {
    if (this.isOver) return false;
    const name = `${kind} @ ${place}`;
    const does = this.#listed ? this.#listed.has(name) : draw(this.#seed, name) < probability;
    if (does) this.happened.push(name);
    return does;
  }

  #intensity(kind: FaultKind): number {
    const at = Math.floor(draw(this.#seed, `intensity of ${kind}`) * intensities.length);
    return intensities[at] ?? 0;
  }
}
