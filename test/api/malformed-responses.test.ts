import { once } from "node:events";
import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import type { Files } from "../../src/host/host.ts";
import {
  against,
  createdKb,
  emptyPage,
  endless,
  http,
  keys,
  lines,
  rawServer,
  reset,
  say,
} from "../lib/raw-server.ts";
import { rareTest, sampled } from "../lib/sampled.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const { read, rename, create } = lines;

/** The head of a 200 response; without Content-Length, its body ends when the connection closes. */
const head = (headers: Readonly<Record<string, string | number>> = {}) =>
  [
    "HTTP/1.1 200 OK",
    "content-type: application/json",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "\r\n",
  ].join("\r\n");

/** Sends part of a response, then resets the connection. */
const thenReset = (part: string) => (socket: Socket) =>
  void socket.write(part, () => socket.resetAndDestroy());

const packed = (bytes: Buffer, coding: string) =>
  say(head({ "content-encoding": coding, "content-length": bytes.length }), bytes);

const euro = Buffer.from("€");
const gzipped = gzipSync(emptyPage);
const half = emptyPage.slice(0, 30);
const chunked = { "transfer-encoding": "chunked" };
const many = (count: number, length: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, "y".repeat(length)]));

/** Lost in transit. */
const lost: readonly (readonly [string, (socket: Socket) => void, string])[] = [
  ["a close without a response", say(), "connection reset"],
  ["a reset before the response", reset, "connection reset"],
  ["a reset inside the headers", thenReset(head().slice(0, 30)), "connection reset"],
  ["a reset after the headers", thenReset(head({ "content-length": 64 })), "connection reset"],
  ["a reset in the body", thenReset(head({ "content-length": 64 }) + half), "connection reset"],
  [
    "a Content-Length that is too long",
    say(head({ "content-length": 99 }), emptyPage),
    "connection reset",
  ],
  ["chunks without the last one", say(head(chunked), `40\r\n${emptyPage}\r\n`), "connection reset"],
  ["half a chunk", say(head(chunked), `40\r\n${half}`), "connection reset"],
  ["a chunk with an invalid size", say(head(chunked), `zz\r\n${half}`), "invalid HTTP response"],
  ["a response that is not HTTP", say("SSH-2.0-OpenSSH_9.6\r\n\r\n"), "invalid HTTP response"],
  [
    "two Content-Length headers",
    say(head({ "content-length": 2, "Content-Length": 3 }), "{}"),
    "connection reset",
  ],
  ["an unexpected 100", say("HTTP/1.1 100 Continue\r\n\r\n"), "connection reset"],
  ["truncated gzip data", packed(gzipped.subarray(0, 20), "gzip"), "response truncated"],
];

// Safe requests are retried; for others the error states that the change may have been applied.
test.each(sampled(3, lost))(
  "%s: reads and idempotent writes are retried, a create is not",
  async (_, bad, words) => {
    for (const [line, good] of [
      [read, emptyPage],
      [rename, '{"id":"x","name":"B","type":"knowledge","binding_count":"0"}'],
    ] as const) {
      const mended = await against([bad, say(http(200, good))], line);
      expect(mended, mended.err).toMatchObject({ exit: 0, requests: { length: 2 } });
      const lasting = await against([bad], line);
      expect(lasting, lasting.err).toMatchObject({ exit: 11, out: "", requests: { length: 4 } });
      expect(lasting.err).toContain(words);
    }
    const made = await against([bad, say(http(200, createdKb))], create);
    expect(made, made.err).toMatchObject({ exit: 11, out: "", requests: { length: 1 } });
    expect(made.err).toContain(words);
    expect(made.err).toContain("the change may have been applied");
  },
);

// Complete, but invalid: retrying would not help.
test.each<[string, (socket: Socket) => void, number, string]>([
  ["truncated JSON", say(http(200, half)), 1, "incomplete JSON"],
  [
    "a Content-Length that is too short",
    say(head({ "content-length": 30 }), emptyPage),
    1,
    "incomplete JSON",
  ],
  [
    "half a character",
    say(head({ "content-length": 8 }), '{"a":"', euro.subarray(0, 2)),
    1,
    "incomplete JSON",
  ],
  ["a 204 without a body", say("HTTP/1.1 204 No Content\r\n\r\n"), 1, "received an empty body"],
  ["a 200 without a body", say(http(200, "")), 1, "received an empty body"],
  [
    "invalid gzip data",
    packed(Buffer.from(emptyPage), "gzip"),
    1,
    "failed to decompress the response (gzip)",
  ],
  ["an unknown content encoding", packed(gzipped, "zstd"), 1, "unsupported content encoding: zstd"],
  ["a header that is too long", say(head(many(1, 40_000))), 11, "response headers are too large"],
  ["too many headers", say(head(many(3000, 8)), "{}"), 11, "response headers are too large"],
])("%s: nothing is retried; a write may have been applied", async (_, bad, exit, words) => {
  for (const line of [read, rename, create]) {
    const ran = await against([bad], line);
    expect(ran, ran.err).toMatchObject({ exit, out: "", requests: { length: 1 } });
    expect(ran.err).toContain(words);
    expect(ran.err.includes("the change may have been applied")).toBe(line !== read);
  }
});

test.each([
  ["gzip", gzipped],
  ["x-gzip", gzipped],
  ["deflate", deflateSync(emptyPage)],
  ["br", brotliCompressSync(emptyPage)],
  ["identity", Buffer.from(emptyPage)],
])(
  "a response with Content-Encoding %s is decompressed although the client did not accept it",
  async (coding, bytes) => {
    const ran = await against([packed(bytes, coding)], read);
    expect(ran).toMatchObject({ exit: 0, out: "[]\n", requests: { length: 1 } });
  },
);

test("a character split between two chunks is decoded as one", async () => {
  const body = emptyPage.replace("[]", '[{"id":"1","name":"€"}]');
  const bytes = Buffer.from(body);
  const at = bytes.indexOf(euro) + 1;
  const respond = (socket: Socket) => {
    socket.write(head({ "content-length": bytes.length }));
    // The second piece is written after the first is flushed, so that they arrive separately.
    socket.write(bytes.subarray(0, at), () => setImmediate(() => socket.end(bytes.subarray(at))));
  };
  const ran = await against([respond], [...read, "--jq", ".[].name"]);
  expect(ran).toMatchObject({ exit: 0, out: "€\n" });
});

test.each([
  ["a response of 2 GB", head({ "content-length": 2 ** 31 }), 1, "larger than 64 MiB"],
  ["an endless response", head(), 1, "larger than 64 MiB"],
  ["an endless error page", head().replace("200", "404"), 6, "404"],
])("%s is read up to a limit only", async (_, start, exit, words) => {
  for (const line of [read, create]) {
    const { answer, counted } = endless(start);
    const ran = await against([answer], line);
    expect(ran, ran.err).toMatchObject({ exit, out: "", requests: { length: 1 } });
    expect(ran.err).toContain(words);
    expect(counted.bytes).toBeLessThan(200 * 2 ** 20);
  }
});

rareTest("a response that decompresses to more than the limit is rejected", async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 2 ** 20, " "));
  const ran = await against([packed(bomb, "gzip")], read);
  expect(ran).toMatchObject({ exit: 1, out: "", requests: { length: 1 } });
  expect(ran.err).toContain("larger than 64 MiB");
});

test("the empty response to HEAD is not decompressed", async () => {
  const ran = await against(
    [say(head({ "content-encoding": "gzip" }))],
    ["kb", "api", "HEAD", "/x"],
  );
  expect(ran, ran.err).toMatchObject({ exit: 0, out: "" });
});

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const zip = (headers: Readonly<Record<string, string | number>>) =>
  head({ ...headers, "content-type": "application/zip" });

// The sizes at which undici pauses reading, and larger ones.
test.each([
  ["keep-alive", 2 ** 16],
  ["close", 2 ** 16],
  ["close", 2 ** 16 + 1],
  ["keep-alive", 2 ** 21],
  ["close", 2 ** 21],
])(
  "a download is complete if the server closes before the body is read (connection: %s)",
  async (connection, length) => {
    const folder = await temporaryDirectory();
    const path = join(folder, "all.zip");
    let gone: Promise<unknown> | undefined;
    const server = await rawServer([
      (socket) => {
        gone = once(socket, "close");
        say(zip({ connection, "content-length": length }), Buffer.alloc(length, "z"))(socket);
      },
    ]);
    const writeLate: Files["writeAtomic"] = async (...written) => {
      await gone;
      await diskFiles.writeAtomic(...written);
    };
    const ran = await cli(["kb", "doc", "download", id, id, "--zip", path], {
      env: { ...keys, KB_BASE_URL: server.baseUrl },
      files: { writeAtomic: writeLate },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect((await stat(path)).size).toBe(length);
  },
);

rareTest("a download larger than the in-memory limit is written completely", async () => {
  const path = join(await temporaryDirectory(), "all.zip");
  const length = 70 * 2 ** 20;
  const { baseUrl } = await rawServer([
    say(zip({ "content-length": length }), Buffer.alloc(length, "z")),
  ]);
  const line = ["kb", "doc", "download", id, id, "--zip", path];
  const ran = await cli(line, { env: { ...keys, KB_BASE_URL: baseUrl } });
  expect(ran.exit, ran.err).toBe(0);
  expect((await stat(path)).size).toBe(length);
});

test("a truncated download creates no file and keeps an existing one", async () => {
  const folder = await temporaryDirectory();
  const path = join(folder, "all.zip");
  const line = ["kb", "doc", "download", id, id, "--zip", path];
  const cut = thenReset(`${zip({ "content-length": 1000 })}PK`);
  const first = await against([cut], line);
  expect(first, first.err).toMatchObject({ exit: 11, requests: { length: 1 } });
  expect(await readdir(folder)).toEqual([]);
  await writeFile(path, "old");
  const second = await against([cut], line);
  expect(second).toMatchObject({ exit: 11, requests: { length: 1 } });
  expect(await readdir(folder)).toEqual(["all.zip"]);
  expect(await readFile(path, "utf8")).toBe("old");
});

test("an upload that the server rejects before reading all of it fails with the server's error", async () => {
  const path = join(await temporaryDirectory(), "a.md");
  await writeFile(path, Buffer.alloc(5 * 2 ** 20, "x"));
  const seen: string[] = [];
  const rejecting = createServer(({ method }, response) => {
    seen.push(String(method));
    if (method === "GET") {
      response.writeHead(200, { connection: "close" }).end(
        JSON.stringify({
          id,
          name: "A",
          data: [],
          has_more: false,
          limit: 100,
          total: 0,
          page: 1,
        }),
      );
      return;
    }
    response.writeHead(413, { connection: "close", "content-type": "text/html" }).end("<html>");
  });
  const server = await rawServer([], { serve: () => rejecting });
  const env = { ...keys, KB_BASE_URL: server.baseUrl };
  const ran = await cli(["kb", "doc", "upload", id, path], { env });
  expect(ran, ran.err).toMatchObject({ exit: 5, out: "" });
  expect(ran.err).toContain("request body too large for the proxy");
  expect(seen.filter((each) => each !== "GET")).toEqual(["POST"]);
});
