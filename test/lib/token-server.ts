import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listening } from "./listening.ts";

/** What an access token opens: applications by their ID, each with its classic key, and knowledge bases. */
export interface Opened {
  readonly apps: Readonly<Record<string, string>>;
  readonly bases: readonly string[];
}

/** A request of an application as it arrived: its path, and the application that it named. */
export interface AppRequest {
  readonly path: string;
  readonly app: string | undefined;
}

/** Statuses, codes and messages of the newest source (server §2.2, §3.1). */
const errors = {
  invalid: [401, "unauthorized", "Resource access token is invalid."],
  "no app": [
    400,
    "bad_request",
    "App ID is required when a resource access token is bound to multiple apps.",
  ],
  "other app": [403, "forbidden", "Resource access token is not allowed to access this app."],
  "other base": [
    403,
    "forbidden",
    "Resource access token is not allowed to access this knowledge base.",
  ],
} as const;

/**
 * A server that takes access tokens as the newest source does, in front of a sandbox that knows only
 * classic keys. Its list of knowledge bases holds those that the token does not open, too.
 */
export async function tokenServer(
  origin: string,
  tokens: Readonly<Record<string, Opened>>,
): Promise<{ readonly base: string; readonly appRequests: AppRequest[] }> {
  const appRequests: AppRequest[] = [];

  /** The classic key for a request, or the name of its error. */
  function classicKey({ url = "", headers }: IncomingMessage): string | keyof typeof errors {
    const opened = tokens[(headers.authorization ?? "").replace("Bearer ", "")];
    if (opened === undefined) return "invalid";
    const [path = ""] = url.replace(/^\/v1/, "").split("?");
    if (/^\/(datasets|workspaces)(\/|$)/.test(path)) {
      const [, base] = /^\/datasets\/([\da-f-]{36})/.exec(path) ?? [];
      const isOpen = base === undefined ? opened.bases.length > 0 : opened.bases.includes(base);
      return isOpen ? "dataset-sandbox" : "other base";
    }
    const app = headers["x-dify-app-id"];
    appRequests.push({ path, app: app === undefined ? undefined : String(app) });
    const [only, second] = Object.values(opened.apps);
    if (app === undefined) return second === undefined ? (only ?? "other app") : "no app";
    return opened.apps[String(app)] ?? "other app";
  }

  function forward(request: IncomingMessage, response: ServerResponse, key: string): void {
    const { host: _, "x-dify-app-id": __, ...headers } = request.headers;
    const upstream = send(
      `${origin}${request.url}`,
      {
        method: request.method,
        headers: { ...headers, authorization: `Bearer ${key}`, connection: "close" },
      },
      (received) => {
        response.writeHead(received.statusCode ?? 500, received.headers);
        received.pipe(response);
      },
    );
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  }

  const server = createServer((request, response) => {
    const key = classicKey(request);
    if (!Object.hasOwn(errors, key)) return forward(request, response, key);
    const [status, code, message] = errors[key as keyof typeof errors];
    request.resume();
    response.writeHead(status, { "content-type": "application/json", "x-version": "1.17.1" });
    response.end(JSON.stringify({ code, message, status }));
  });
  return { base: await listening(server), appRequests };
}
