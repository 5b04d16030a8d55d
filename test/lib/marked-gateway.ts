import { createServer, request as send } from "node:http";
import { listening } from "./listening.ts";

/**
 * Forwards requests with the keys of the sandbox, and echoes the key that came in headers of each response. The key of an
 * application names it: `applicationIn`.
 */
export async function markedGateway(
  sandboxUrl: string,
  applicationIn: (key: string) => string,
): Promise<string> {
  const server = createServer((request, response) => {
    const { authorization = "", host: _, ...rest } = request.headers;
    const key = authorization.replace("Bearer ", "");
    const isOfBases = /^\/v1\/(datasets|workspaces)/.test(request.url ?? "");
    const isKnowledge = key.startsWith("sk-") ? isOfBases : key.startsWith("dataset-");
    const own = isKnowledge ? "dataset-sandbox" : `app-${applicationIn(key)}`;
    const forwarded = send(
      `${new URL(sandboxUrl).origin}${request.url}`,
      {
        method: request.method,
        headers: { ...rest, authorization: `Bearer ${own}`, connection: "close" },
      },
      (upstream) => {
        response.writeHead(upstream.statusCode ?? 500, {
          ...upstream.headers,
          "x-request-id": key,
          "x-version": `1.14.2 ${key}`,
        });
        upstream.pipe(response);
      },
    );
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  });
  return listening(server);
}
