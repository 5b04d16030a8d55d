import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ReceivedRequest, ReceivedPart, Clock } from "../protocol/handler.ts";
import { proxyErrorPage, type SandboxResponse } from "../protocol/response.ts";
import type { FaultPlan } from "../protocol/faults.ts";

const utf8 = new TextEncoder();

/** Maximum body that the default proxy accepts, in bytes (server §4). */
const MAX_BODY = 100 * 1024 * 1024;

class BodyTooLarge extends Error {}

/** Reads a request with its body; rejects if the client disconnects, or at the end of a body that is too large. */
export async function readRequest(request: IncomingMessage): Promise<ReceivedRequest> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size <= MAX_BODY) pieces.push(piece);
    else pieces.length = 0;
  }
  if (size > MAX_BODY) throw new BodyTooLarge();
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const body = Buffer.concat(pieces);
  return {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers,
    body,
    parts: await parseParts(headers["content-type"] ?? "", body),
  };
}

/** Parses a multipart form; an invalid one has no parts, as on the server. */
async function parseParts(type: string, body: Uint8Array<ArrayBuffer>): Promise<ReceivedPart[]> {
  if (!type.toLowerCase().startsWith("multipart/form-data")) return [];
  const form = await new Response(body, { headers: { "content-type": type } })
    .formData()
    .catch(() => new FormData());
  return Promise.all(
    [...form].map(async ([name, value]) => {
      if (typeof value === "string") return { name, type: "text/plain", bytes: utf8.encode(value) };
      const bytes = new Uint8Array(await value.arrayBuffer());
      return { name, filename: value.name, type: value.type, bytes };
    }),
  );
}

/** The values of `Host` that a server accepts. */
export interface HostNames {
  /** Address that it listens on. */
  readonly address: string;
  readonly port: number;
  /** More names, each with a port or for any. */
  readonly allowed: readonly string[];
}

/**
 * Returns why a request is rejected, or undefined if it comes from a program, or from a URL opened by
 * hand. Rejects web pages: another host name for this machine (DNS rebinding), scripts, and embedded
 * resources.
 */
function rejectionOf(headers: IncomingHttpHeaders, names: HostNames): string | undefined {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  const byHand = site === undefined || site === "none";
  if (origin !== undefined || !byHand) return "The sandbox serves programs, not web pages.";
  if (isAllowed(host.toLowerCase(), names)) return undefined;
  return `The sandbox does not serve the host ${JSON.stringify(host)}; --allow-host allows it.`;
}

function isAllowed(host: string, { address, port, allowed }: HostNames): boolean {
  const own = ["127.0.0.1", "localhost", "[::1]", inUrl(address)].map((name) => `${name}:${port}`);
  const others = allowed.map((name) => name.toLowerCase());
  return own.includes(host) || others.includes(host) || others.includes(host.replace(/:\d+$/, ""));
}

/** An address as URLs have it: IPv6 in brackets. */
const inUrl = (address: string) => (address.includes(":") ? `[${address}]` : address);

/** Origin of a server as a client on this machine reaches it. */
export const originOf = ({ address, port }: HostNames): string =>
  `http://${["0.0.0.0", "::"].includes(address) ? "127.0.0.1" : inUrl(address)}:${port}`;

/** Rewrites `GET http://host/path` to `GET /path` with that Host (RFC 9112 §3.2.2). */
function normalizeTarget(request: IncomingMessage): void {
  const [match, host, path] = /^http:\/\/([^/?#]+)([^#]*)/i.exec(request.url ?? "") ?? [];
  if (match === undefined) return;
  request.url = path?.startsWith("/") ? path : `/${path ?? ""}`;
  request.headers.host = host;
}

/** Maximum request line that the server reads, in bytes (server §3). */
const MAX_REQUEST_LINE = 8190;

/** Reads a request; undefined if it never reached the application, or the client disconnected. */
export async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  names: HostNames,
): Promise<ReceivedRequest | undefined> {
  const line = `${request.method} ${request.url} HTTP/1.1`;
  normalizeTarget(request);
  if (line.length > MAX_REQUEST_LINE) {
    // Sent by the worker, not by the application: no body and no version.
    response.writeHead(414, { "Content-Length": "0", Connection: "close" }).end();
    return undefined;
  }
  // Checked first, so that a web page cannot even use up a fault.
  const message = rejectionOf(request.headers, names);
  if (message !== undefined) {
    const headers = { "Content-Type": "application/json", Connection: "close" };
    const body = { code: "forbidden", message, status: 403 };
    response.writeHead(403, headers).end(JSON.stringify(body));
    return undefined;
  }
  try {
    return await readRequest(request);
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) return void response.destroy();
    const { status, headers, body } = proxyErrorPage(413, "Request Entity Too Large");
    return void response.writeHead(status, headers).end(body);
  }
}

interface Sending {
  readonly plan: FaultPlan;
  readonly clock: Clock;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Sends a response with the faults of the plan; resolves when it is sent or cut, or the client has left. */
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
