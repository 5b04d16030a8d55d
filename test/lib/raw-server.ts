import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { cli } from "./support.ts";
import { afterFile } from "./cleanup.ts";

/** A TCP server whose responses are written by hand. */
export interface RawServer {
  readonly baseUrl: string;
  /** Request lines in the order received. */
  readonly requests: string[];
}

interface Serving {
  /** Creates the server (default: plain TCP). */
  readonly serve?: (served: (socket: Socket) => void) => Server;
  readonly host?: string;
}

/** Calls the n-th responder for the n-th request, and the last one for all further requests. */
export async function rawServer(
  answers: readonly ((socket: Socket, request: string) => void)[],
  { serve = createServer, host = "127.0.0.1" }: Serving = {},
): Promise<RawServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = serve((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // the client may go away
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
      const head = text.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < head + 4 + length) return;
      const request = text;
      text = "";
      requests.push(request.slice(0, request.indexOf("\r\n")));
      answers[Math.min(requests.length, answers.length) - 1]?.(socket, request);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, host, resolve);
  });
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server has no other kind
  const name = host.includes(":") ? `[${host}]` : host;
  return { baseUrl: `http://${name}:${port}/v1`, requests };
}

/** A complete HTTP response. */
export const http = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string =>
  [
    `HTTP/1.1 ${status} X`,
    `content-length: ${Buffer.byteLength(body)}`,
    "content-type: application/json",
    "connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");

/** Response bodies: an empty list of knowledge bases, and a created one. */
export const emptyPage = '{"data":[],"has_more":false,"limit":20,"total":0,"page":1}';
export const createdKb = '{"id":"0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e","name":"A","created_at":1}';

export const keys = { KB_KEY: "dataset-sandbox", KB_APP_KEY: "app-echo" };

/** Sends this text and closes the connection. */
export const say =
  (...pieces: readonly (string | Uint8Array)[]) =>
  (socket: Socket) => {
    for (const piece of pieces) socket.write(piece);
    socket.end();
  };
export const reset = (socket: Socket) => void socket.resetAndDestroy();

/** Writes `start` and 2 GB; counts the bytes written until the client disconnects. */
export function endless(start: string): {
  readonly answer: (socket: Socket) => void;
  readonly counted: { bytes: number };
} {
  const counted = { bytes: 0 };
  const piece = Buffer.alloc(2 ** 20, "x");
  const answer = (socket: Socket) => {
    const more = (error?: Error | null) => {
      counted.bytes = socket.bytesWritten;
      if (!error && counted.bytes < 2 ** 31) socket.write(piece, more);
    };
    socket.write(start, more);
  };
  return { answer, counted };
}

/** One command per kind of request: a read, a write that must not be retried, and two that may be. */
export const lines = {
  read: ["kb", "list", "-o", "json"],
  create: ["kb", "create", "A"],
  rename: ["kb", "tag", "rename", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "B"],
  remove: ["kb", "delete", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "--yes"],
} as const;

/** Runs a command against such a server; returns its result, delays and request lines. */
export async function against(
  answers: Parameters<typeof rawServer>[0],
  line: readonly string[],
  env: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
) {
  const server = await rawServer(answers);
  const waits: number[] = [];
  const ran = await cli(line, {
    env: { ...keys, KB_BASE_URL: server.baseUrl, ...env },
    waits,
    ...(signal && { signal }),
  });
  return { ...ran, waits, requests: server.requests };
}
