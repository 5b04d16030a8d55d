import { CliError } from "../errors.ts";

/** Bytes of one file: far more than servers take, far less than a few kilobytes can be unpacked to. */
const largestFile = 256 * 1024 * 1024;

/** Bytes unpacked at once: a thousand times as many may come out, before it is seen that it is too much. */
const mouthful = 16 * 1024;

const tooLarge = () => new CliError("failure", "a file in the ZIP is larger than 256 MiB");

/** The error for a ZIP with more or fewer files than documents that were asked for. */
export const otherCount = (documents: number): CliError =>
  new CliError("failure", `the ZIP does not hold one file for each of ${documents} documents`);

/**
 * The files of a ZIP, one after the other in its order; what they are called plays no part. Throws
 * failure when it is broken, or a file of it is larger than 256 MiB.
 */
export async function* filesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Unzip, UnzipInflate } = await import("fflate");
  const whole: Uint8Array[] = [];
  let failed: Error | undefined;
  let open = 0;
  const unzip = new Unzip((file) => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    open++;
    file.ondata = (error, piece, final) => {
      if (failed) return;
      size += piece?.length ?? 0;
      if (error) failed = error;
      else if (size > largestFile) failed = tooLarge();
      else pieces.push(piece);
      if (!final || error) return;
      open--;
      whole.push(Buffer.concat(pieces));
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  const check = (cause: unknown) =>
    cause instanceof CliError ? cause : new CliError("failure", "the ZIP is broken", { cause });
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += mouthful) {
      try {
        unzip.push(chunk.subarray(at, at + mouthful));
      } catch (error) {
        throw check(error);
      }
      if (failed) throw check(failed);
      yield* whole.splice(0);
    }
  }
  try {
    unzip.push(new Uint8Array(), true);
  } catch (error) {
    throw check(error);
  }
  if (failed || open > 0) throw check(failed);
  yield* whole.splice(0);
}
