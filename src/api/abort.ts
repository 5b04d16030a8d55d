import { CliError, kindOfSignal } from "../errors.ts";

/** The error for an aborted signal, whose reason is a CliError (a deadline) or the signal's name. */
export function abortError(signal: AbortSignal, writes: boolean): CliError {
  if (signal.reason instanceof CliError) {
    const { kind, message, info } = signal.reason;
    return new CliError(kind, message, { ...info, ...(writes && { sideEffect: "unknown" }) });
  }
  return new CliError(kindOfSignal(String(signal.reason)), "interrupted", {
    sideEffect: writes ? "unknown" : "none",
  });
}
