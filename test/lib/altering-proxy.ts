import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterFile } from "./cleanup.ts";

/** A response of the server behind, as JSON that may be changed. */
export interface Altered {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  json: unknown;
}

/**
 * A server in front of another one that passes requests on, and lets `alter` change the JSON of responses: for states
 * that a server has only after a fault of its own; `forwarded` changes the path of a request, and `sent` its body.
 * Returns its base URL.
 */
export async function alteringProxy(
  origin: string,
  alter: (response: Altered) => void,
  forwarded = (path: string) => path,
  sent = (body: Buffer, _path: string) => body,
): Promise<string> {
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "GET", url: path = "/", headers } = request;
      void (async () => {
        const {
          host: _,
          connection: __,
          "content-length": ___,
          "transfer-encoding": ____,
          ...rest
        } = headers;
        const body = method === "GET" ? undefined : sent(Buffer.concat(chunks), path);
        const given = { method, headers: rest as Record<string, string>, ...(body && { body }) };
        const response = await fetch(`${origin}${forwarded(path)}`, given);
        let bytes = Buffer.from(await response.arrayBuffer());
        const type = response.headers.get("content-type") ?? "";
        if (type.includes("json") && bytes.length > 0) {
          const altered: Altered = { method, path, json: JSON.parse(bytes.toString()) as unknown };
          alter(altered);
          bytes = Buffer.from(JSON.stringify(altered.json));
        }
        const version = response.headers.get("x-version") ?? "";
        reply.writeHead(response.status, { "content-type": type, "x-version": version });
        reply.end(bytes);
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
