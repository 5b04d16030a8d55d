import { CliError } from "../errors.ts";

/** The files of a ZIP, one after the other in its order. Throws failure when it is broken. */
export async function* filesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Unzip, UnzipInflate } = await import("fflate");
  const whole: Uint8Array[] = [];
  let failed: Error | undefined;
  let open = 0;
  const unzip = new Unzip((file) => {
    const pieces: Uint8Array[] = [];
    open++;
    file.ondata = (error, piece, final) => {
      if (error) failed = error;
      else pieces.push(piece);
      if (!final || error) return;
      open--;
      whole.push(Buffer.concat(pieces));
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  const check = (error: unknown) => new CliError("failure", "the ZIP is broken", { cause: error });
  for await (const chunk of bytes) {
    try {
      unzip.push(chunk);
    } catch (error) {
      throw check(error);
    }
    if (failed) throw check(failed);
    yield* whole.splice(0);
  }
  try {
    unzip.push(new Uint8Array(), true);
  } catch (error) {
    throw check(error);
  }
  if (failed || open > 0) throw check(failed);
  yield* whole.splice(0);
}
