import { once } from "node:events";
import { startThread } from "../../lib/thread.ts";
import { UnreadableFile } from "../../lib/formats/unreadable-file.ts";

/** In the bundle, the script of the thread is a file of its own. */
const script = new URL(
  `./pdf-worker.${import.meta.url.endsWith(".ts") ? "mjs" : "cjs"}`,
  import.meta.url,
);

/** Limits on the work for one file: ms, and MB of objects. */
const MAX_TIME = 20_000;
const MAX_MEMORY = 512;

/** What the thread says of a file. */
type PdfMessage =
  | { readonly pages: readonly string[] }
  /** A limit that it exceeds, or that it is encrypted. */
  | { readonly reason: string }
  /** The error of the parser. */
  | { readonly damage: string };

/** Settles when the PDF before is read: one at a time, since a thread takes much memory. */
let previous: Promise<unknown> = Promise.resolve();

/** Reads a PDF: a part for each page. */
export function readPdf(bytes: Uint8Array): Promise<readonly string[]> {
  const pages = previous.then(() => readInThread(bytes));
  previous = pages.catch(() => {});
  return pages;
}

/** In a thread of its own: a PDF can keep its parser busy for hours, and only its end ends that. */
async function readInThread(bytes: Uint8Array): Promise<readonly string[]> {
  const worker = startThread(script, {
    workerData: bytes,
    // Captured: the parser prints warnings.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY },
  });
  worker.unref(); // a sandbox that stops does not wait for it
  const signal = AbortSignal.timeout(MAX_TIME);
  try {
    const [message] = (await once(worker, "message", { signal })) as [PdfMessage];
    if ("pages" in message) return message.pages;
    throw "reason" in message ? new UnreadableFile(message.reason) : new Error(message.damage);
  } catch (error) {
    if (signal.aborted) throw new UnreadableFile("reading it takes more than 20 seconds");
    throw error;
  } finally {
    await worker.terminate();
  }
}
