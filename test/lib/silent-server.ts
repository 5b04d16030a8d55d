import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterFile } from "./cleanup.ts";

/** A server that takes one request and never responds. */
export interface SilentServer {
  readonly baseUrl: string;
  /** Resolves when the request has arrived. */
  readonly isSent: Promise<void>;
  /** Resolves when its connection is closed. */
  readonly isClosed: Promise<void>;
}

/** Starts a silent server; it ends after the tests of the file. */
export async function silentServer(): Promise<SilentServer> {
  let arrived = () => {};
  let left = () => {};
  const isSent = new Promise<void>((resolve) => (arrived = resolve));
  const isClosed = new Promise<void>((resolve) => (left = resolve));
  const server = createServer((_, response) => {
    response.on("close", left);
    arrived();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo; // of a TCP server
  return { baseUrl: `http://127.0.0.1:${port}/v1`, isSent, isClosed };
}
