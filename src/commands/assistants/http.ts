import { randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import type { NodeIncomingMessageLike } from "@modelcontextprotocol/node";
import { codeOf, CliError, reasonOf, usage } from "../../errors.ts";
import type { Context } from "../task/command-spec.ts";
import { newServer } from "./server.ts";
import type { ServerSetting } from "./server.ts";

const PATH = "/mcp";
/** Sessions of clients of older versions of the protocol; the oldest one ends for a further one. */
const MAX_SESSIONS = 64;

/** Serves clients over HTTP until the process is stopped. Prints the address and a new token. */
export async function serveOnHttp(
  setting: ServerSetting,
  address: string,
  context: Context,
): Promise<void> {
  const token = randomBytes(32).toString("base64url");
  const onerror = (error: Error) => void context.trace(1, `mcp: ${error.message}`);
  const modern = createMcpHandler(() => newServer(setting), { legacy: "reject", onerror });
  const sessions = newSessions(setting);
  const fetch = async (request: Request): Promise<Response> =>
    (await isLegacyRequest(request)) ? sessions.fetch(request) : modern.fetch(request);
  const handle = toNodeHandler({ fetch }, { onerror });
  const server = createServer(
    guarded(
      token,
      (request, response) => void handle(request as NodeIncomingMessageLike, response),
    ),
  );
  const { host, port } = loopback(address);
  try {
    await listen(server, { host, port });
    const { port: actual } = server.address() as AddressInfo; // it listens on a port
    const shownHost = host.includes(":") ? `[${host}]` : host;
    await context.promptLine(`listening on http://${shownHost}:${actual}${PATH}`);
    // The only time that it is shown.
    await context.promptLine(`header of each request: Authorization: Bearer ${token}`);
    context.host.secrets.learn(token);
    if (!context.host.signal.aborted) await once(context.host.signal, "abort");
  } finally {
    await sessions.close();
    await modern.close();
    server.close();
    server.closeAllConnections();
  }
}

/** `127.0.0.1:8800` → host and port. Throws usage for an address that other machines can reach. */
export function loopback(address: string): { readonly host: string; readonly port: number } {
  const [, host = "127.0.0.1", port = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(address) ?? [];
  const hint = "use 127.0.0.1:8800, or port 0 for a free one";
  if (port === "" || Number(port) > 65_535)
    throw usage(`--http ${JSON.stringify(address)} is not an address with a port`, hint);
  const plain = host.replace(/^\[(.*)\]$/, "$1");
  if (!/^(127(\.\d{1,3}){3}|localhost|::1)$/.test(plain))
    throw usage(`--http: ${host} is not a loopback address`, hint);
  return { host: plain, port: Number(port) };
}

const listen = (
  server: ReturnType<typeof createServer>,
  { host, port }: ReturnType<typeof loopback>,
) =>
  new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(startError(error, port)));
    server.listen(port, host, resolve);
  });

const startError = (error: Error, port: number): CliError =>
  codeOf(error) === "EADDRINUSE"
    ? usage(`port ${port} is already in use`, "choose another port, or 0 for a free one")
    : new CliError("failure", `failed to start the server: ${reasonOf(error)}`, { cause: error });

/** Passes on requests that name this server, from no foreign page, with the token. */
function guarded(token: string, next: RequestListener): RequestListener {
  return (request, response) => {
    const { host = "", origin } = request.headers;
    const isOwn = origin === undefined || namesServer(origin.replace("http://", ""), request);
    if (!namesServer(host, request) || !isOwn)
      return refuse(response, 403, "Host and Origin must name this server and its port");
    if (!hasToken(request, token)) return refuse(response, 401, "missing or wrong token");
    const [path] = request.url?.split("?") ?? [];
    if (path !== PATH) return refuse(response, 404, `the path is ${PATH}`);
    if (request.method === "TRACE") return refuse(response, 405, "TRACE is not supported");
    next(request, response);
  };
}

/** Is it a name of this machine with the port of this server? */
function namesServer(text: string, { socket }: IncomingMessage): boolean {
  const name = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d+))?$/i.exec(text);
  return name !== null && Number(name[1] ?? 80) === socket.localPort;
}

function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = { "content-type": "application/json" };
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  response.writeHead(status, { ...headers, ...challenge });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message } }));
}

/** Sessions of clients that use a version of the protocol before 2026: each has a server of its own. */
function newSessions(setting: ServerSetting) {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const open = async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: async (id) => {
        transports.set(id, transport);
        const [oldest] = transports;
        if (transports.size <= MAX_SESSIONS || !oldest) return;
        transports.delete(oldest[0]);
        await oldest[1].close();
      },
      onsessionclosed: (id) => void transports.delete(id),
    });
    await newServer(setting).connect(transport);
    return transport;
  };
  return {
    async fetch(request: Request): Promise<Response> {
      const id = request.headers.get("mcp-session-id");
      const transport = id === null ? await open() : transports.get(id);
      if (transport) return transport.handleRequest(request);
      const error = { code: -32_001, message: "Session not found" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
    },
    async close(): Promise<void> {
      for (const transport of transports.values()) await transport.close();
    },
  };
}
