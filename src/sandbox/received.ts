import type { IncomingMessage } from "node:http";

/** One part of a multipart form as it arrived. */
export interface SeenPart {
  readonly name: string;
  /** Absent for a text part. */
  readonly filename?: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  /** With the query, still encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Parts of a multipart form, in order; empty for other bodies. */
  readonly parts: readonly SeenPart[];
}

/** Reads a whole request; rejects when the client goes away in the middle. */
export async function received(request: IncomingMessage): Promise<SeenRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer); // no encoding was set
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
async function partsOf(type: string, body: Uint8Array<ArrayBuffer>): Promise<SeenPart[]> {
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
