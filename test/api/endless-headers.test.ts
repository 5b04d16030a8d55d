/** Bytes that a server may send forever without completing a response. */
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { against, emptyPage, http, lines, say } from "../lib/raw-server.ts";

const { read, create } = lines;
const soon = ["--idle-timeout", "0.2s", "--retries", "1"];

/** Sends `start`, then `text` every 40 ms until the client disconnects. */
const sendRepeatedly = (start: string, text: string) => (socket: Socket) => {
  socket.write(start);
  const timer = setInterval(() => socket.write(text), 40);
  socket.on("close", () => clearInterval(timer));
};

const chunked = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
test.concurrent.each([
  ["early hints", sendRepeatedly("", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")],
  ["102 responses", sendRepeatedly("", "HTTP/1.1 102 Processing\r\n\r\n")],
  ["a chunk extension", sendRepeatedly(`${chunked}\r\n\r\n5;a=`, "x")],
])("endless data (%s) triggers the idle timeout", async (_, endless) => {
  const ran = await Promise.all(
    [read, create].map((line) => against([endless], [...line, ...soon])),
  );
  expect(ran.map(({ exit, requests }) => [exit, requests.length])).toEqual([
    [11, 2],
    [11, 1],
  ]);
  for (const { err } of ran) expect(err).toContain("no data received within the idle timeout");
  expect(ran[1]?.err).toContain("the change may have been applied");
});

test("early hints before the response are ignored", async () => {
  const hint = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
  const ran = await against([say(hint.repeat(3) + http(200, emptyPage))], [...read, ...soon]);
  expect(ran).toMatchObject({ exit: 0, out: "[]\n", requests: { length: 1 } });
});
