import type { ServerResponse } from "node:http";
import type { SandboxResponse } from "./response.ts";
import type { FaultPlan } from "./faults.ts";
import type { Clock } from "./handler.ts";

const utf8 = new TextEncoder();

/**
 * Sends an answer, with what the plan wants to go wrong on the way. Resolves when it is sent, cut,
 * or the client has gone.
 */
export async function sendResponse(
  answer: SandboxResponse,
  response: ServerResponse,
  plan: FaultPlan,
  clock: Clock,
  gone: AbortSignal,
): Promise<void> {
  response.writeHead(answer.status, answer.headers);
  response.flushHeaders();
  const cut = () => response.destroy();
  const left = { bytes: plan["cut-bytes"] ?? Infinity, events: plan["cut-after"] ?? Infinity };
  let spoken = plan.silence ?? Infinity;
  if (left.bytes === 0 || left.events === 0) return void cut();

  for await (const piece of piecesOf(answer.body)) {
    const events = typeof piece === "string" ? (piece.match(/^data:/gm)?.length ?? 0) : 0;
    const bytes = typeof piece === "string" ? utf8.encode(piece) : piece;
    for (const [part, pause] of paced(bytes.subarray(0, left.bytes), plan.drip)) {
      if (gone.aborted) return;
      await written(response, part, gone);
      if (pause > 0) await clock.sleep(pause, gone).catch(() => {});
    }
    left.bytes -= bytes.byteLength;
    left.events -= events;
    spoken -= events;
    if (left.bytes <= 0 || left.events <= 0) return void cut();
    // Silent from here on: the client has to give up.
    if (spoken <= 0) return;
    if (gone.aborted) return;
  }
  response.end();
}

async function* piecesOf(body: SandboxResponse["body"]): AsyncGenerator<string | Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** The bytes in parts, each with the ms to wait after it; all at once without a rate. */
function* paced(
  bytes: Uint8Array,
  rate: number | undefined,
): Generator<[part: Uint8Array, pause: number]> {
  if (rate === undefined) return void (yield [bytes, 0]);
  // Ten parts a second, or a byte at a time where that is slower.
  const size = Math.max(1, Math.round(rate / 10));
  for (let at = 0; at < bytes.byteLength; at += size) {
    yield [bytes.subarray(at, at + size), (size / rate) * 1000];
  }
}

/** Resolves when the bytes have left for the client, or it has gone. */
const written = (response: ServerResponse, bytes: Uint8Array, gone: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (bytes.byteLength === 0 || gone.aborted) return resolve();
    const done = () => {
      gone.removeEventListener("abort", done);
      resolve();
    };
    gone.addEventListener("abort", done);
    response.write(bytes, done);
  });
