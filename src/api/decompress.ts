import { pipeline } from "node:stream";
import type { Duplex, Readable } from "node:stream";
import { CliError } from "../errors.ts";

/**
 * The bytes of a body as they were before something on the way packed them: nobody asked for that,
 * but HTTP allows it. Throws `failure` for what cannot be unpacked; a body that ends too soon fails
 * as one that was cut (`Z_BUF_ERROR`).
 */
export async function* decompress(body: Readable, coding: string): AsyncGenerator<Uint8Array> {
  const zlib = await import("node:zlib");
  const unpackers: Readonly<Record<string, () => Duplex & { bytesWritten: number }>> = {
    gzip: zlib.createGunzip,
    "x-gzip": zlib.createGunzip,
    deflate: zlib.createInflate,
    br: zlib.createBrotliDecompress,
  };
  const unpacker = unpackers[coding.toLowerCase()]?.();
  if (unpacker === undefined) {
    body.on("error", () => {}).destroy(); // it says that it was destroyed
    throw cannot(`the answer is packed as ${coding}, which was not asked for`);
  }
  try {
    yield* pipeline(body, unpacker, () => {}); // its errors come out of the loop
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // An answer to HEAD, or a 204, is packed in name only.
    if (code === "Z_BUF_ERROR" && unpacker.bytesWritten === 0) return;
    if (!/^(Z_(?!BUF)|ERR__)/.test(code)) throw error;
    throw cannot(`the answer is packed as ${coding}, but broken`, error);
  }
}

const cannot = (message: string, cause?: unknown) =>
  new CliError("failure", message, { cause, hint: "a proxy on the way may change the answers" });
