import type { ServerResponse } from "node:http";
import type { SandboxResponse } from "../protocol/response.ts";
import type { FaultPlan } from "../protocol/faults.ts";
import type { Clock } from "../protocol/handler.ts";

const utf8 = new TextEncoder();

interface Sending {
  readonly plan: FaultPlan;
  readonly clock: Clock;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Sends a response with the faults of the plan. Resolves when it is sent or cut short, or the client
 * has disconnected.
 */
export async function sendResponse(
  { status, headers, body }: SandboxResponse,
  response: ServerResponse,
  { plan, clock, signal }: Sending,
): Promise<void> {
  response.writeHead(status, headers);
  response.flushHeaders();
  const drop = () => response.destroy();
  const left = { bytes: plan["cut-bytes"] ?? Infinity, events: plan["cut-after"] ?? Infinity };
  let eventsUntilSilence = plan.silence ?? Infinity;
  if (left.bytes === 0 || left.events === 0) return void drop();

  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    const events = typeof chunk === "string" ? (chunk.match(/^data:/gm)?.length ?? 0) : 0;
    const bytes = typeof chunk === "string" ? utf8.encode(chunk) : chunk;
    for (const [part, pause] of throttle(bytes.subarray(0, left.bytes), plan.drip)) {
      if (signal.aborted) return;
      await write(response, part, signal);
      if (pause > 0) await clock.sleep(pause, signal).catch(() => {});
    }
    left.bytes -= bytes.byteLength;
    left.events -= events;
    eventsUntilSilence -= events;
    if (left.bytes <= 0 || left.events <= 0) return void drop();
    // Stay silent until the client gives up.
    if (eventsUntilSilence <= 0 || signal.aborted) return;
  }
  response.end();
}

/** Splits bytes into parts, each with the ms to wait after it; one part without a rate. */
function* throttle(
  bytes: Uint8Array,
  rate: number | undefined,
): Generator<[part: Uint8Array, pause: number]> {
  if (rate === undefined) return void (yield [bytes, 0]);
  // Ten parts per second, or single bytes at lower rates.
  const size = Math.max(1, Math.round(rate / 10));
  for (let start = 0; start < bytes.byteLength; start += size) {
    yield [bytes.subarray(start, start + size), (size / rate) * 1000];
  }
}

/** Resolves when the bytes are sent or the client has disconnected. */
const write = (response: ServerResponse, bytes: Uint8Array, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (bytes.byteLength === 0 || signal.aborted) return resolve();
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    response.write(bytes, done);
  });

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
