import { constants, deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { createZip } from "../lib/zip.ts";
import { rawServer } from "../lib/raw-server.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

test("a ZIP that expands to 4 GiB is rejected before it fills the memory", async () => {
  // One mebibyte of zeros that ends at a byte boundary, 4096 times: 4 MB become 4 GiB.
  const zeros = deflateRawSync(Buffer.alloc(2 ** 20), { finishFlush: constants.Z_FULL_FLUSH });
  const packed = Buffer.concat(Array.from({ length: 4096 }, () => zeros));
  const head = Buffer.from(
    createZip([{ name: "a", bytes: new Uint8Array() }], new Date()).slice(0, 31),
  );
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(packed.length, 18);
  const zip = Buffer.concat([head, packed]);
  const { baseUrl } = await rawServer([
    (socket, request) => {
      const body = request.startsWith("POST") ? zip : Buffer.from('{"id":"x","name":"a"}');
      const type = body === zip ? "application/zip" : "application/json";
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n`,
      );
      socket.write("connection: close\r\n\r\n");
      socket.end(body);
    },
  ]);
  const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const folder = await temporaryDirectory();
  let maxMemory = 0;
  const watch = setInterval(() => (maxMemory = Math.max(maxMemory, process.memoryUsage().rss)), 20);
  const ran = await cli(["kb", "doc", "download", id, id, "--dir", folder], {
    env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-x" },
  }).finally(() => clearInterval(watch));
  expect(ran).toEqual({
    exit: 1,
    out: "",
    err: "error: a file in the ZIP is larger than 256 MiB\n",
  });
  expect(maxMemory).toBeLessThan(1.5 * 2 ** 30);
});
