import { createServer } from "node:http";
import { readRequest } from "../../src/sandbox/http/exchange.ts";
import { listening } from "./listening.ts";
import { cli } from "./support.ts";
import type { Ran, World } from "./support.ts";

/** A canned response: a status with JSON or bytes. */
export interface Canned {
  readonly status: number;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
}

/** A received request: its line, such as `POST /datasets`, and its JSON body. */
export interface CannedRequest {
  readonly line: string;
  readonly body: unknown;
}

/** Responses by method and path below /v1; `*` matches one ID, and the first match wins. */
export type Routes = Readonly<Record<string, Canned | ((received: CannedRequest) => Canned)>>;

/** Starts a server with canned responses and runs commands against it. Unknown routes get a 404. */
export async function cannedServer(start: Routes = {}) {
  let routes = start;
  const seen: CannedRequest[] = [];
  const server = createServer((request, response) => {
    void readRequest(request).then((arrived) => {
      const path = arrived.path.replace(/^\/v1/, "");
      const data = arrived.parts.find(({ name }) => name === "data")?.bytes ?? arrived.body;
      const text = new TextDecoder().decode(data);
      const received = { line: `${arrived.method} ${path}`, body: parsed(text) };
      seen.push(received);
      const route = Object.entries(routes).find(([route]) => fits(route, received.line))?.[1];
      const reply = typeof route === "function" ? route(received) : (route ?? unknownRoute);
      response.writeHead(reply.status, {
        "content-type": reply.bytes ? "application/zip" : "application/json",
        "x-version": "1.14.2",
      });
      response.end(reply.bytes ?? (reply.json === undefined ? "" : JSON.stringify(reply.json)));
    });
  });
  const baseUrl = await listening(server);
  const env = { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" };
  return {
    seen,
    /** Method and path, without the query, of every request of the last command. */
    lines: () => seen.map(({ line }) => line.replace(/\?.*/, "")),
    /** Runs a command against these routes. */
    run(answers: Routes, argv: readonly string[], world: World = {}): Promise<Ran> {
      routes = answers;
      seen.length = 0;
      return cli(argv, { ...world, env: { ...env, ...world.env } });
    },
  };
}

const unknownRoute: Canned = {
  status: 404,
  json: { code: "not_found", message: "Nothing here.", status: 404 },
};

const fits = (route: string, line: string) =>
  new RegExp(`^${route.replace(/[.?+]/g, "\\$&").replaceAll("*", "[^/?]+")}(\\?.*)?$`).test(line);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A 200 response with a JSON body. */
export const ok = (json: unknown): Canned => ({ status: 200, json });
/** The only page of a list. */
export const pageOf = (...data: unknown[]): Canned =>
  ok({ data, has_more: false, limit: 100, total: data.length, page: 1 });
