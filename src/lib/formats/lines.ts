import { streamDecoder } from "../text.ts";

/** A line of a file, without its end. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Consecutive lines; the last ones of the file with `last`. */
export interface Lines {
  readonly lines: readonly Line[];
  readonly last: boolean;
}

const MAX_LINE = 2 ** 26;

/** Work that ends when the signal is aborted: with this error. */
interface Abortable {
  readonly host: { readonly signal: AbortSignal };
  abortError(): Error;
}

/**
 * Lines as they arrive, in batches; the last one may lack its line end. Throws `tooLong` with the
 * number of a line over the maximum length, and `abortError` once the signal is aborted.
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  tooLong: (number: number) => Error,
  { host, abortError }: Abortable,
): AsyncGenerator<Lines> {
  const decode = streamDecoder();
  /** Pieces of the incomplete line. */
  let open: string[] = [];
  let length = 0;
  let number = 0;
  const numbered = (text: string): Line => ({ number: ++number, text });
  for await (const piece of bytes) {
    if (host.signal.aborted) throw abortError();
    const text = decode(piece);
    const end = text.lastIndexOf("\n");
    if (end < 0) {
      open.push(text);
      length += text.length;
      if (length > MAX_LINE) throw tooLong(number + 1);
      continue;
    }
    const lines = [...open, text.slice(0, end)].join("").split("\n").map(numbered);
    open = [text.slice(end + 1)];
    length = text.length - end - 1;
    yield { lines, last: false };
  }
  const rest = [...open, decode()].join("");
  yield { lines: rest === "" ? [] : [numbered(rest)], last: true };
}
