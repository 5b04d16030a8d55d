import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterAll } from "vitest";

/** A TCP server that answers each connection's request by hand. */
export interface RawServer {
  readonly baseUrl: string;
  /** Request lines in the order they came. */
  readonly requests: string[];
}

/** Answers request number n (from 0) with the n-th entry; the last one serves for all further. */
export async function rawServer(
  answers: readonly ((socket: Socket, request: string) => void)[],
): Promise<RawServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server has no other kind
  return { baseUrl: `http://127.0.0.1:${port}/v1`, requests };
}

/** A whole HTTP answer. */
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
