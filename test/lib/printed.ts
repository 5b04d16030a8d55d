import type { Output } from "../../src/host/host.ts";
import type { Returns } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print.ts";
import type { Style } from "../../src/output/print.ts";

/** What a style says where a test says nothing: a pipe or terminal in UTC at a fixed time. */
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

/** Where the output goes: a pipe, a terminal of some columns, or a reader that leaves. */
export interface Reader {
  /** Columns of the terminal; a pipe when absent. */
  readonly terminal?: number;
  /** Leaves after that many writes. */
  readonly leavesAfter?: number;
}

/** An output that keeps every write. */
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

/** Prints values and gives the text. */
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

/** The values one by one, then the failure if there is one. */
export async function* arriving(
  values: Iterable<unknown> | AsyncIterable<unknown>,
  failure?: Error,
): AsyncGenerator<unknown> {
  yield* values;
  if (failure) throw failure;
}
