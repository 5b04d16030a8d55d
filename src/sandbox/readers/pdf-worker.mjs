// Reads a PDF in a thread (pdf.ts), so that one without end can be stopped. Plain JavaScript: Node
// starts it from the sources, too.
import { parentPort, workerData } from "node:worker_threads";
import { inflateSync } from "node:zlib";
import { getDocument } from "unpdf/pdfjs";

const MAX_PAGES = 2000;
/** Bytes of one unpacked stream: a page has a few thousand, a scanned picture some million. */
const MAX_STREAM = 128 * 1024 * 1024;
const MAX_TEXT = 16 * 1024 * 1024;

/** A reason in our own words. */
class Unreadable extends Error {}

/** Throws if the PDF packs a stream that is too long, which the parser would keep in memory. */
function checkStreams(pdf) {
  for (let at = pdf.indexOf("stream"); at >= 0; at = pdf.indexOf("stream", at + 6)) {
    const start = at + (pdf[at + 6] === 0x0d ? 8 : 7);
    // A stream can be packed several times.
    for (let data = pdf.subarray(start); data?.[0] === 0x78;) data = unpacked(data);
  }
}

function unpacked(data) {
  try {
    return inflateSync(data, { maxOutputLength: MAX_STREAM });
  } catch (error) {
    if (error.code !== "ERR_BUFFER_TOO_LARGE") return undefined; // not packed, or damaged
    throw new Unreadable("a part of it unpacks to more than 128 MB");
  }
}

async function readPages(bytes) {
  checkStreams(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const options = { isEvalSupported: false, disableFontFace: true, useSystemFonts: true };
  const pdf = await getDocument({ ...options, data: bytes, verbosity: 0 }).promise;
  if (pdf.numPages > MAX_PAGES) throw new Unreadable(`it has more than ${MAX_PAGES} pages`);
  const pages = [];
  let length = 0;
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map(({ str = "", hasEOL }) => (hasEOL ? `${str}\n` : str)).join("");
    length += text.length;
    if (length > MAX_TEXT) throw new Unreadable("its text is longer than 16 million characters");
    pages.push(text.trim());
    page.cleanup();
  }
  return pages;
}

function messageOf(error) {
  if (error instanceof Unreadable) return { reason: error.message };
  if (error?.name === "PasswordException") return { reason: "it is encrypted" };
  return { damage: String(error?.message ?? error) };
}

// No `await` here: the bundle is CommonJS.
void readPages(workerData)
  .then((pages) => ({ pages }), messageOf)
  .then((message) => parentPort?.postMessage(message));
