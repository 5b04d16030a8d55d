import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { sendOnce } from "../../src/api/exchange.ts";
import type { HttpRequest } from "../../src/api/request.ts";
import { bytePieces } from "../../src/lib/collect.ts";

/** More than the buffers of a connection hold. */
const size = 64 * 2 ** 20;
const content = Buffer.alloc(size, "é");

/** A server that reads a body only when it is told to. */
async function slowServer() {
  let onHead: (read: () => void) => void = () => {};
  const head = new Promise<() => void>((resolve) => void (onHead = resolve));
  const received: { length: number; headers: Readonly<Record<string, unknown>> } = {
    length: 0,
    headers: {},
  };
  const server = createServer((request, response) => {
    received.headers = request.headers;
    onHead(() => {
      request.on("data", (piece: Buffer) => void (received.length += piece.length));
      request.on("end", () => response.end("{}"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const agent = new Agent();
  onTestFinished(async () => {
    await agent.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, agent, head, received };
}

const asText = { kind: "json", text: content.toString() } as const;
const asFile = { kind: "form", parts: [{ name: "file", file: { name: "a.bin" } }] };

test.each<[string, unknown]>([
  ["a text", asText],
  ["a file", asFile],
])("the bytes of %s are reported while they are sent", async (_, body) => {
  const { url, agent, head, received } = await slowServer();
  const seen: number[] = [];
  const request = { method: "POST", url, headers: {}, body } as unknown as HttpRequest;
  const options = {
    key: undefined,
    retry: "never",
    retries: 0,
    idleTimeout: 60_000,
    signal: new AbortController().signal,
    onSent: (sent: number, total: number) => void seen.push(sent / total),
  } as const;
  const transport = {
    dispatcher: () => Promise.resolve(agent),
    blob: () => Promise.resolve(new Blob([...bytePieces(content)])),
  };
  const response = sendOnce(request, options, transport as never);
  const read = await head;
  expect(seen.at(-1) ?? 0).toBeLessThan(0.9);
  read();
  expect((await response).status).toBe(200);
  expect(seen.length).toBeGreaterThan(10);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen.at(-1)).toBe(1);
  expect(String(received.length)).toBe(received.headers["content-length"]);
  expect(received.length).toBeGreaterThanOrEqual(size);
});
