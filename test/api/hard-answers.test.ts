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
import { cli, temporaryFolder } from "../lib/support.ts";

const { read, rename, create } = lines;

/** The head of an answer whose body is `length` bytes long, or goes on until the connection ends. */
const head = (headers: Readonly<Record<string, string | number>> = {}) =>
  [
    "HTTP/1.1 200 OK",
    "content-type: application/json",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "\r\n",
  ].join("\r\n");

/** Sends a part of an answer, then breaks the connection. */
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

// Lost on the way: whatever may be repeated is, and whatever may not says that it may be done.
test.each<[string, (socket: Socket) => void, string]>([
  ["a close without an answer", say(), "connection reset"],
  ["a reset before the answer", reset, "connection reset"],
  ["a reset inside the headers", thenReset(head().slice(0, 30)), "connection reset"],
  ["a reset after the headers", thenReset(head({ "content-length": 64 })), "connection reset"],
  ["a reset in the body", thenReset(head({ "content-length": 64 }) + half), "connection reset"],
  ["too long a Content-Length", say(head({ "content-length": 99 }), emptyPage), "connection reset"],
  ["chunks without an end", say(head(chunked), `40\r\n${emptyPage}\r\n`), "connection reset"],
  ["half a chunk", say(head(chunked), `40\r\n${half}`), "connection reset"],
  ["a chunk of a size that is none", say(head(chunked), `zz\r\n${half}`), "invalid HTTP response"],
  ["no HTTP at all", say("SSH-2.0-OpenSSH_9.6\r\n\r\n"), "invalid HTTP response"],
  [
    "two Content-Lengths",
    say(head({ "content-length": 2, "Content-Length": 3 }), "{}"),
    "connection reset",
  ],
  ["an uncalled-for 100", say("HTTP/1.1 100 Continue\r\n\r\n"), "connection reset"],
  ["half of a gzip", packed(gzipped.subarray(0, 20), "gzip"), "response truncated"],
])("%s: reads and repeatable writes are repeated, a create is not", async (_, bad, words) => {
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
});

// Whole, but not what was asked for: nobody repeats that.
test.each<[string, (socket: Socket) => void, number, string]>([
  ["half a JSON", say(http(200, half)), 1, "incomplete JSON"],
  [
    "too short a Content-Length",
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
  ["a 204 with nothing", say("HTTP/1.1 204 No Content\r\n\r\n"), 1, "received an empty body"],
  ["a 200 with nothing", say(http(200, "")), 1, "received an empty body"],
  [
    "a gzip that is none",
    packed(Buffer.from(emptyPage), "gzip"),
    1,
    "failed to decompress the response (gzip)",
  ],
  ["an unknown packing", packed(gzipped, "zstd"), 1, "unsupported content encoding: zstd"],
  ["headers without an end", say(head(many(1, 40_000))), 11, "response headers are too large"],
  ["too many headers", say(head(many(3000, 8)), "{}"), 11, "response headers are too large"],
])("%s: nothing is repeated, a write may be done", async (_, bad, exit, words) => {
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
])("an answer packed as %s, which nobody asked for, is unpacked", async (coding, bytes) => {
  const ran = await against([packed(bytes, coding)], read);
  expect(ran).toMatchObject({ exit: 0, out: "[]\n", requests: { length: 1 } });
});

test("a character cut in two by the chunks is one", async () => {
  const body = emptyPage.replace("[]", '[{"id":"1","name":"€"}]');
  const bytes = Buffer.from(body);
  const at = bytes.indexOf(euro) + 1;
  const answer = (socket: Socket) => {
    socket.write(head({ "content-length": bytes.length }));
    // The next piece is written when this one has left, so that they come apart.
    socket.write(bytes.subarray(0, at), () => setImmediate(() => socket.end(bytes.subarray(at))));
  };
  const ran = await against([answer], [...read, "--jq", ".[].name"]);
  expect(ran).toMatchObject({ exit: 0, out: "€\n" });
});

test.each([
  ["an answer of 2 GB", head({ "content-length": 2 ** 31 }), 1, "larger than 64 MiB"],
  ["an answer without an end", head(), 1, "larger than 64 MiB"],
  ["an error page without an end", head().replace("200", "404"), 6, "404"],
])("%s is not read further than makes sense", async (_, start, exit, words) => {
  for (const line of [read, create]) {
    const { answer, counted } = endless(start);
    const ran = await against([answer], line);
    expect(ran, ran.err).toMatchObject({ exit, out: "", requests: { length: 1 } });
    expect(ran.err).toContain(words);
    expect(counted.bytes).toBeLessThan(200 * 2 ** 20);
  }
});

test("an answer that unpacks to more than makes sense is refused as well", async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 2 ** 20, " "));
  const ran = await against([packed(bomb, "gzip")], read);
  expect(ran).toMatchObject({ exit: 1, out: "", requests: { length: 1 } });
  expect(ran.err).toContain("larger than 64 MiB");
});

test("an answer to HEAD is packed in name only", async () => {
  const ran = await against(
    [say(head({ "content-encoding": "gzip" }))],
    ["kb", "api", "HEAD", "/x"],
  );
  expect(ran, ran.err).toMatchObject({ exit: 0, out: "" });
});

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const zip = (headers: Readonly<Record<string, string | number>>) =>
  head({ ...headers, "content-type": "application/zip" });

// The sizes at which undici stops reading, and some more.
test.each([
  ["keep-alive", 2 ** 16],
  ["close", 2 ** 16],
  ["close", 2 ** 16 + 1],
  ["keep-alive", 2 ** 21],
  ["close", 2 ** 21],
])(
  "a server that says %s and is gone before a download is read loses nothing",
  async (connection, length) => {
    const folder = await temporaryFolder();
    const path = join(folder, "all.zip");
    let gone: Promise<unknown> | undefined;
    const server = await rawServer([
      (socket) => {
        gone = once(socket, "close");
        say(zip({ connection, "content-length": length }), Buffer.alloc(length, "z"))(socket);
      },
    ]);
    const late: Files["writeAtomic"] = async (...written) => {
      await gone;
      await diskFiles.writeAtomic(...written);
    };
    const ran = await cli(["kb", "doc", "download", id, id, "--zip", path], {
      env: { ...keys, KB_BASE_URL: server.baseUrl },
      files: { writeAtomic: late },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect((await stat(path)).size).toBe(length);
  },
);

test("a download larger than what is kept in memory is written whole", async () => {
  const path = join(await temporaryFolder(), "all.zip");
  const length = 70 * 2 ** 20;
  const { baseUrl } = await rawServer([
    say(zip({ "content-length": length }), Buffer.alloc(length, "z")),
  ]);
  const line = ["kb", "doc", "download", id, id, "--zip", path];
  const ran = await cli(line, { env: { ...keys, KB_BASE_URL: baseUrl } });
  expect(ran.exit, ran.err).toBe(0);
  expect((await stat(path)).size).toBe(length);
});

test("a download that breaks off leaves no file, and the old one where there was one", async () => {
  const folder = await temporaryFolder();
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

test("an upload that is refused before it is whole is told as the refusal that it is", async () => {
  const path = join(await temporaryFolder(), "a.md");
  await writeFile(path, Buffer.alloc(5 * 2 ** 20, "x"));
  const seen: string[] = [];
  const hasty = createServer(({ method }, response) => {
    seen.push(String(method));
    if (method === "GET") {
      response.writeHead(200, { connection: "close" }).end(JSON.stringify({ id, name: "A" }));
      return;
    }
    response.writeHead(413, { connection: "close", "content-type": "text/html" }).end("<html>");
  });
  const server = await rawServer([], { serve: () => hasty });
  const env = { ...keys, KB_BASE_URL: server.baseUrl };
  const ran = await cli(["kb", "doc", "upload", id, path], { env });
  expect(ran, ran.err).toMatchObject({ exit: 5, out: "" });
  expect(ran.err).toContain("request body too large for the proxy");
  expect(seen.filter((each) => each !== "GET")).toEqual(["POST"]);
});
