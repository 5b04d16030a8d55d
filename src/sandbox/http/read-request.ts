import type { IncomingMessage } from "node:http";

/** One part of a multipart form as it arrived. */
export interface ReceivedPart {
  readonly name: string;
  /** Absent for a text part. */
  readonly filename?: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  /** With the query, still encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Parts of a multipart form, in order; empty for other bodies. */
  readonly parts: readonly ReceivedPart[];
}

/** Bytes of a body that a stock proxy lets through (server §4). */
const largestBody = 100 * 1024 * 1024;

/** The body is more than the proxy takes. */
export class BodyTooLarge extends Error {}

/**
 * Reads a whole request. Rejects when the client goes away in the middle, and with TooLarge when all
 * of a body that is too large has been read and dropped.
 */
export async function readRequest(request: IncomingMessage): Promise<ReceivedRequest> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size <= largestBody) pieces.push(piece);
    else pieces.length = 0;
  }
  if (size > largestBody) throw new BodyTooLarge();
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const body = Buffer.concat(pieces);
  return {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers,
    body,
    parts: await partsOf(headers["content-type"] ?? "", body),
  };
}

/** Parts of a form; a body that cannot be read as one has none, as on the server. */
async function partsOf(type: string, body: Uint8Array<ArrayBuffer>): Promise<ReceivedPart[]> {
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
