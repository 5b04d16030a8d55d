import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { RawHost } from "../../src/host/host.ts";
import { bodyText, exchanges } from "./recordings.ts";
import { http, rawServer } from "./raw-server.ts";
import type { RawServer } from "./raw-server.ts";

/** Handles a request, given the number of requests to this route before it. */
export type Route = (socket: Socket, before: number, request: string) => void;

/** The body of the recorded exchange with this name, `<file>: <title>`. */
export function recorded(name: string): string {
  const found = exchanges.find((exchange) => exchange.name === name);
  if (!found) throw new Error(`no recording ${name}`);
  return bodyText(found);
}

/** An event stream that stays open: only pings follow. */
export const pinging =
  (text: string): Route =>
  (socket) => {
    begin(socket, text);
    const pings = setInterval(() => socket.write(`event: ping\n\n`), 20);
    socket.on("close", () => clearInterval(pings));
  };

/** An event stream that the server closes after this text. */
export const streaming =
  (text: string): Route =>
  (socket) => {
    begin(socket, text);
    socket.end();
  };

const begin = (socket: Socket, text: string) =>
  void socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${text}`,
  );

/** A JSON response. */
export const json =
  (body: unknown, status = 200): Route =>
  (socket) =>
    void socket.end(http(status, JSON.stringify(body)));

/** Handles the n-th request with the n-th route, and all further ones with the last. */
export const inTurn =
  (...routes: readonly Route[]): Route =>
  (socket, before, request) =>
    routes[Math.min(before, routes.length - 1)]?.(socket, before, request);

export const lost: Route = (socket) => void socket.resetAndDestroy();

/** Formats events as a stream. */
export const eventsText = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** A server with these routes, matched by prefix, for a workflow without inputs. */
export async function runServer(routes: Readonly<Record<string, Route>>): Promise<RawServer> {
  const all: Readonly<Record<string, Route>> = {
    ...routes, // in the order in which they are matched
    "GET /v1/parameters": json({ user_input_form: [] }),
    "GET /v1/info": json({ name: "A", mode: "workflow" }),
    ...routes,
  };
  const counts = new Map<string, number>();
  return rawServer([
    (socket, request) => {
      const name = Object.keys(all).find((each) => request.startsWith(each)) ?? "";
      const before = counts.get(name) ?? 0;
      counts.set(name, before + 1);
      (all[name] ?? json({ code: "not_found", message: "no such route", status: 404 }, 404))(
        socket,
        before,
        request,
      );
    },
  ]);
}

/** Time that passes only during sleeps, which return at once. */
export function sleptTime(speed = 1) {
  let time = 0;
  const around = (host: RawHost): RawHost => ({
    ...host,
    elapsed: () => time,
    sleep: async (ms, signal) => {
      const aborted = () => signal?.aborted || host.signal.aborted;
      await setImmediate();
      if (aborted()) throw new Error("aborted");
      time += ms * speed;
      await setImmediate();
      if (aborted()) throw new Error("aborted");
    },
  });
  return { around, passed: () => time };
}
