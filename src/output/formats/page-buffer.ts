import type { Output } from "../../host/host.ts";

/** Characters that are worth a write of their own. */
const enough = 64 * 1024;

/** An output that has to be flushed before the one below it is used again. */
export interface PageBuffer extends Output {
  flush(): Promise<void>;
}

/**
 * The same output, but texts that follow one another without waiting go out together: the rows of a
 * page in one write. What was written goes out when the program waits for anything else. Not more
 * than one write is under way, so a slow reader still slows the writer.
 */
export function bufferPages(out: Output): PageBuffer {
  let text = "";
  let writing = Promise.resolve();

  const send = () => {
    const words = text;
    text = "";
    writing = Promise.all([writing, words === "" ? undefined : out.write(words)]).then(() => {});
    writing.catch(() => {}); // told to whoever writes or flushes next
  };

  return {
    write(words) {
      if (typeof words !== "string") {
        send();
        return out.write(words);
      }
      if (text === "") setImmediate(send);
      text += words;
      if (text.length >= enough) send();
      return writing;
    },
    flush() {
      send();
      return writing;
    },
    isTTY: out.isTTY,
    columns: out.columns,
    terminal: out.terminal,
    get closed() {
      return out.closed;
    },
  };
}
