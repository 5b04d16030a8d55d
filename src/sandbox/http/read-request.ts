import type { IncomingMessage } from "node:http";

/** A part of a multipart form, as received. */
export interface ReceivedPart {
  readonly name: string;
  /** Undefined for a text part. */
  readonly filename?: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A request, as received. */
export interface ReceivedRequest {
  readonly method: string;
  /** Encoded, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Parts of a multipart form, in order; empty for other bodies. */
  readonly parts: readonly ReceivedPart[];
}

/** The encoded path without the query. */
export const pathOf = ({ path }: ReceivedRequest): string => path.split("?", 1)[0] ?? "/";

/** Maximum body that the default proxy accepts, in bytes (server §4). */
const MAX_BODY = 100 * 1024 * 1024;

export class BodyTooLarge extends Error {}

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
