import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { built } from "../lib/built.ts";
import {
  against,
  createdKb,
  emptyPage,
  http,
  lines,
  rawServer,
  reset,
  say,
} from "../lib/raw-server.ts";

const { read, rename, create } = lines;
const tooMany = '{"code":"too_many_requests","message":"slow down"}';
const soon = ["--idle-timeout", "0.2s", "--retries", "1"];
const started = http(200, emptyPage).slice(0, -20);

/** Sends a text byte by byte, 40 ms apart; repeats it if `forever`. */
const drip =
  (start: string, text: string, forever = false) =>
  (socket: Socket) => {
    socket.write(start);
    let at = 0;
    const timer = setInterval(() => {
      socket.write(text.charAt(at++ % text.length));
      if (!forever && at === text.length) socket.end();
    }, 40);
    socket.on("close", () => clearInterval(timer));
    socket.on("end", () => clearInterval(timer));
  };

test.concurrent.each([
  ["before the response", ""],
  ["in the headers", started.slice(0, 40)],
  ["in the body", started],
])("silence %s triggers the idle timeout; a create is not retried", async (_, part) => {
  const silent = (socket: Socket) => void socket.write(part);
  const ran = await Promise.all(
    [read, rename, create].map((line) => against([silent], [...line, ...soon])),
  );
  expect(ran.map(({ exit }) => exit)).toEqual([11, 11, 11]);
  expect(ran.map(({ requests }) => requests.length)).toEqual([2, 2, 1]);
  for (const { err } of ran) expect(err).toContain("no data received within the idle timeout");
  expect(ran[0]?.err).toContain("--idle-timeout");
  expect(ran[2]?.err).toContain("the change may have been applied");
});

test("a body that arrives byte by byte does not trigger the idle timeout", async () => {
  const slow = drip(http(200, emptyPage).slice(0, -8), emptyPage.slice(-8));
  const ran = await against([slow], [...read, "--idle-timeout", "0.2s"]);
  expect(ran).toMatchObject({ exit: 0, out: "[]\n", requests: { length: 1 } });
});

test.concurrent.each([
  ["an endless body", started.replace(/content-length: \d+/, "content-length: 9999")],
  ["endless headers", "HTTP/1.1 200 OK\r\nx-long: "],
])(
  "--timeout ends a request whose response is %s arriving byte by byte forever",
  async (_, start) => {
    const ran = await Promise.all(
      [read, create].map(async (line) => {
        const server = await rawServer([drip(start, "x", true)]);
        const limits = ["--idle-timeout", "30s", "--timeout", "1.5s"];
        const ended = await built([...line, ...limits], { KB_BASE_URL: server.baseUrl });
        return { ...ended, requests: server.requests };
      }),
    );
    for (const one of ran) {
      expect(one, one.err).toMatchObject({ exit: 12, out: "", requests: { length: 1 } });
    }
    expect(ran[1]?.err).toContain("the change may have been applied");
  },
);

// The Date header of the response; Retry-After is relative to it.
const date = "Sat, 21 Nov 2026 12:00:00 GMT";
test.each([
  ["7", 7000],
  ["0", 0],
  ["59", 59_000],
  ["Sat, 21 Nov 2026 12:00:09 GMT", 9000],
  ["Sat, 21 Nov 2026 11:00:00 GMT", 250],
  ["soon", 250],
  ["-5", 250],
  ["1e3", 250],
  ["", 250],
])("a 429 with Retry-After: %s is retried after %d ms", async (after, wait) => {
  const limited = say(http(429, tooMany, { "retry-after": after, date }));
  for (const [line, good] of [
    [read, emptyPage],
    [create, createdKb],
  ] as const) {
    const ran = await against([limited, say(http(200, good))], line);
    expect(ran, ran.err).toMatchObject({ exit: 0, waits: [wait], requests: { length: 2 } });
  }
});

test.each(["301", "86400", "Sun, 22 Nov 2026 12:00:00 GMT"])(
  "a 429 with Retry-After: %s is not retried: the wait would be too long",
  async (after) => {
    const limited = say(http(429, tooMany, { "retry-after": after, date }));
    for (const line of [read, create]) {
      const ran = await against([limited], line);
      expect(ran, ran.err).toMatchObject({ exit: 7, waits: [], requests: { length: 1 } });
      expect(ran.err).toMatch(/wait (301|86400) s and retry/);
      expect(ran.err).not.toContain("unknown whether");
    }
  },
);

// The look-up of the name leaves a keep-alive connection; the server then keeps, closes or resets it.
const match = `{"data":[{"id":"0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e","name":"A"}],"has_more":false,"limit":20,"total":1,"page":1}`;
const keptAlive = http(200, match).replace("connection: close", "connection: keep-alive");
const add = ["kb", "metadata", "create", "A", "author", "--type", "string"];
const added = http(200, '{"id":"1","name":"author","type":"string"}');

test.each<[string, (socket: Socket) => void]>([
  ["left open", (socket) => void socket.write(keptAlive)],
  ["closed with the response", say(keptAlive)],
  [
    "reset after the response",
    (socket) => void socket.write(keptAlive, () => socket.resetAndDestroy()),
  ],
])("a write after a connection that was %s is sent once", async (_, first) => {
  const ran = await against([first, say(added)], add);
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.requests.map((line) => line.split(" ")[0])).toEqual(["GET", "POST"]);
});

test("a write on a reused connection is not retried if the connection is reset", async () => {
  const ran = await against([(socket) => void socket.write(keptAlive), reset, say(added)], add);
  expect(ran.exit, ran.err).toBe(11);
  expect(ran.requests.map((line) => line.split(" ")[0])).toEqual(["GET", "POST"]);
  expect(ran.err).toContain("the change may have been applied");
});
