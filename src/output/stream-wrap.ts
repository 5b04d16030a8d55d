import type { Output } from "../host/host.ts";

/** The output with another way to write to it. */
export const withWrite = (output: Output, write: Output["write"]): Output => ({
  write,
  get isTTY() {
    return output.isTTY;
  },
  get terminal() {
    return output.terminal;
  },
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
