import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterFile } from "./cleanup.ts";

/** Starts a server, until the end of the file; returns its base URL. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server has no other kind
  return `http://127.0.0.1:${port}/v1`;
}
