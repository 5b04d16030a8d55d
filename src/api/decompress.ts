import { pipeline } from "node:stream";
import type { Duplex, Readable } from "node:stream";
import { CliError, codeOf } from "../errors.ts";

/**
 * Decompresses a body. We never request compression, but HTTP allows proxies to apply it. Throws
 * `failure` for an unknown or damaged encoding, and `Z_BUF_ERROR` for a truncated body.
 */
export async function* decompress(body: Readable, encoding: string): AsyncGenerator<Uint8Array> {
  const zlib = await import("node:zlib");
  const decoders: Readonly<Record<string, () => Duplex & { bytesWritten: number }>> = {
    gzip: zlib.createGunzip,
    "x-gzip": zlib.createGunzip,
    deflate: zlib.createInflate,
    br: zlib.createBrotliDecompress,
  };
  const decoder = decoders[encoding.toLowerCase()]?.();
  if (decoder === undefined) {
    body.on("error", () => {}).destroy(); // which emits an error
    throw failed(`unsupported content encoding: ${encoding}`);
  }
  try {
    yield* pipeline(body, decoder, () => {}); // its errors are thrown by the loop
  } catch (error) {
    const code = codeOf(error);
    // The response to HEAD, or a 204, is compressed in name only.
    if (code === "Z_BUF_ERROR" && decoder.bytesWritten === 0) return;
    if (!/^(Z_(?!BUF)|ERR__)/.test(code)) throw error;
    throw failed(`failed to decompress the response (${encoding})`, error);
  }
}

const failed = (message: string, cause?: unknown) =>
  new CliError("failure", message, { cause, hint: "a proxy may alter the responses" });
