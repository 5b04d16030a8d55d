import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";
import { readRequest } from "../../src/sandbox/http/read-request.ts";
import { cli } from "./support.ts";
import type { Ran, World } from "./support.ts";

/** What a canned server answers: a JSON value, or a status with one. */
export interface Canned {
  readonly status: number;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
}

/** A request as it arrived: `POST /datasets`, and its JSON body. */
export interface Asked {
  readonly line: string;
  readonly body: unknown;
}

/** The answer to a request by its method and its path below /v1, `*` for one id; the first that fits. */
export type Routes = Readonly<Record<string, Canned | ((asked: Asked) => Canned)>>;

/** A server that answers by routes, and command lines that go to it. Unknown routes answer 404. */
export async function cannedServer(start: Routes = {}) {
  let routes = start;
  const seen: Asked[] = [];
  const server = createServer((request, response) => {
    void readRequest(request).then((arrived) => {
      const path = arrived.path.replace(/^\/v1/, "");
      const data = arrived.parts.find(({ name }) => name === "data")?.bytes ?? arrived.body;
      const text = new TextDecoder().decode(data);
      const asked = { line: `${arrived.method} ${path}`, body: parsed(text) };
      seen.push(asked);
      const found = Object.entries(routes).find(([route]) => fits(route, asked.line))?.[1];
      const answer = typeof found === "function" ? found(asked) : (found ?? unknownRoute);
      response.writeHead(answer.status, {
        "content-type": answer.bytes ? "application/zip" : "application/json",
        "x-version": "1.14.2",
      });
      response.end(answer.bytes ?? (answer.json === undefined ? "" : JSON.stringify(answer.json)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => void server.close());
  const { port } = server.address() as AddressInfo; // a TCP server has no other kind
  const env = { KB_BASE_URL: `http://127.0.0.1:${port}/v1`, KB_KEY: "dataset-sandbox" };
  return {
    seen,
    /** Method and path of every request since the last line began, queries left away. */
    lines: () => seen.map(({ line }) => line.replace(/\?.*/, "")),
    /** Runs a line against these routes. */
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

/** A whole answer with a JSON body. */
export const ok = (json: unknown): Canned => ({ status: 200, json });
/** A page with all there is. */
export const pageOf = (...data: unknown[]): Canned =>
  ok({ data, has_more: false, limit: 100, total: data.length, page: 1 });
