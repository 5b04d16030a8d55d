import type { Host, Output } from "../../host/host.ts";
import { nowhere } from "../../output/style.ts";

/** An output that becomes a file when it is closed. Until then, and if it is discarded, a file of this name is kept. */
export function fileOutput(path: string, files: Host["files"]) {
  const { readable, writable } = new TransformStream<Uint8Array | string>();
  const writer = writable.getWriter();
  let written: Promise<void> | undefined;
  const accepted = (work: Promise<void>): Promise<void> => {
    const end = (written ??= files.writeAtomic(path, readable));
    // Where the file cannot be written, the stream does not say why, or is not read at all.
    return Promise.race([work.catch(() => end), end]);
  };
  const out: Output = { ...nowhere, write: (text) => accepted(writer.write(text)) };
  return {
    out,
    async close() {
      await accepted(writer.close());
      await written;
    },
    /** Has no effect once it is closed. */
    async discard() {
      // Both ends: a piece that nothing reads would keep the first one waiting.
      await Promise.allSettled([writer.abort(), readable.cancel(), written]);
    },
  };
}
