import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ReceivedRequest, ReceivedPart } from "../protocol/handler.ts";
import { proxyErrorPage } from "../protocol/response.ts";

/** Maximum body that the default proxy accepts, in bytes (server §4). */
const MAX_BODY = 100 * 1024 * 1024;

class BodyTooLarge extends Error {}

/**
 * Reads a request with its body. Rejects if the client disconnects, and with BodyTooLarge after it
 * has read and discarded a body that is too large.
 */
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
    [...form].map(async ([name, value]) =>
      typeof value === "string"
        ? { name, type: "text/plain", bytes: new TextEncoder().encode(value) }
        : {
            name,
            filename: value.name,
            type: value.type,
            bytes: new Uint8Array(await value.arrayBuffer()),
          },
    ),
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

/**
 * Reads a request; returns undefined if it was rejected before it reached the application, or the
 * client disconnected.
 */
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
