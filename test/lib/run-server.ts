import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { RawHost } from "../../src/host/host.ts";
import { bodyText, exchanges } from "./recordings.ts";
import { http, rawServer } from "./raw-server.ts";
import type { RawServer } from "./raw-server.ts";

/** What answers a request of a route: how many came before it there, and the request itself. */
export type Route = (socket: Socket, before: number, request: string) => void;

/** The text of the recorded exchange with this name, which begins with its file. */
export function recorded(name: string): string {
  const found = exchanges.find((exchange) => exchange.name === name);
  if (!found) throw new Error(`no recording ${name}`);
  return bodyText(found);
}

/** An event stream that is not over: nothing but pings follow. */
export const pinging =
  (text: string): Route =>
  (socket) => {
    begin(socket, text);
    const pings = setInterval(() => socket.write(`event: ping\n\n`), 20);
    socket.on("close", () => clearInterval(pings));
  };

/** An event stream that the server closes after this. */
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

/** A JSON answer. */
export const json =
  (body: unknown, status = 200): Route =>
  (socket) =>
    void socket.end(http(status, JSON.stringify(body)));

/** The n-th of these for the n-th request, the last one for all further. */
export const inTurn =
  (...routes: readonly Route[]): Route =>
  (socket, before, request) =>
    routes[Math.min(before, routes.length - 1)]?.(socket, before, request);

export const lost: Route = (socket) => void socket.resetAndDestroy();

/** The events of data lines, as a stream has them. */
export const eventsText = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** A server with these routes, the first that a request begins with; a form without fields. */
export async function runServer(routes: Readonly<Record<string, Route>>): Promise<RawServer> {
  const all: Readonly<Record<string, Route>> = {
    ...routes,
    "GET /v1/parameters": json({ user_input_form: [] }),
    "GET /v1/info": json({ name: "A", mode: "workflow" }),
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

/** Time that passes only while somebody sleeps, at once, and so much faster. */
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
