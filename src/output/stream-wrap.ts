import type { Output } from "../host/host.ts";

/** The output with another way to write to it. */
export const withWrite = (output: Output, write: Output["write"]): Output => ({
  write,
  isTTY: output.isTTY,
  terminal: output.terminal,
  get columns() {
    return output.columns;
  },
  get resumeCount() {
    return output.resumeCount ?? 0;
  },
  get closed() {
    return output.closed;
  },
});
