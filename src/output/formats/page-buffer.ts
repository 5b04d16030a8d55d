import type { Output } from "../../host/host.ts";
import { withWrite } from "../style.ts";

/** Characters at which the buffer is written. */
const BUFFER_SIZE = 64 * 1024;

/** An output that must be flushed before the underlying one is used again. */
export interface PageBuffer extends Output {
  flush(): Promise<void>;
}

/**
 * Joins texts that are written without waiting, such as the rows of a page, into one write. The buffer
 * is written on the next event-loop turn. Only one write is in progress, so a slow reader still slows
 * the writer down.
 */
export function bufferPages(out: Output): PageBuffer {
  let text = "";
  let writing = Promise.resolve();

  const send = () => {
    const words = text;
    text = "";
    writing = Promise.all([writing, words === "" ? undefined : out.write(words)]).then(() => {});
    writing.catch(() => {}); // thrown by the next write or flush
  };

  const buffered = withWrite(out, (words) => {
    if (typeof words !== "string") {
      send();
      return out.write(words);
    }
    if (text === "") setImmediate(send);
    text += words;
    if (text.length >= BUFFER_SIZE) send();
    return writing;
  });
  const flush = () => {
    send();
    return writing;
  };
  return Object.assign(buffered, { flush });
}
