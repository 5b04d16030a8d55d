import type { Output } from "../../src/host/host.ts";
import type { Returns } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";

/** The default style of tests: UTC at a fixed time. */
export const plain: Style = {
  format: undefined,
  headers: true,
  reverse: false,
  times: "local",
  timeZone: "UTC",
  color: false,
  accessible: false,
  unicode: true,
  now: () => new Date("2026-11-21T12:00:00Z"),
};

/** The reader of the output: a pipe, a terminal, or a reader that closes. */
export interface Reader {
  /** Columns of the terminal (default: a pipe). */
  readonly terminal?: number;
  /** Closes after that many writes. */
  readonly leavesAfter?: number;
}

/** An output that records every write. */
export function collecting({ terminal, leavesAfter = Infinity }: Reader = {}): {
  out: Output;
  writes: string[];
} {
  const writes: string[] = [];
  const decoder = new TextDecoder();
  const out: Output = {
    write(text) {
      if (writes.length < leavesAfter)
        writes.push(typeof text === "string" ? text : decoder.decode(text));
      return Promise.resolve();
    },
    isTTY: terminal !== undefined,
    columns: terminal ?? Infinity,
    terminal: undefined,
    get closed() {
      return writes.length >= leavesAfter;
    },
  };
  return { out, writes };
}

/** Prints values and resolves to the text. */
export async function printed(
  returns: Returns<never>,
  values: Iterable<unknown> | AsyncIterable<unknown>,
  style: Partial<Style> = {},
  reader: Reader = {},
): Promise<string> {
  const { out, writes } = collecting(reader);
  await render(returns, arriving(values), { ...plain, ...style }, out);
  return writes.join("");
}

/** Yields the values, then throws the failure if there is one. */
export async function* arriving(
  values: Iterable<unknown> | AsyncIterable<unknown>,
  failure?: Error,
): AsyncGenerator<unknown> {
  yield* values;
  if (failure) throw failure;
}
