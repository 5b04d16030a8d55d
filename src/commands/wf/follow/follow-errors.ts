import { ApiError, CliError } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** Returns why to reconnect. Throws errors that a new connection would not repair. */
export function reasonToReconnect(
  thrown: unknown,
  runId: string | undefined,
  context: Context,
): string {
  const error = explainError(thrown, runId, context);
  if (context.signal.aborted) throw error;
  if (error instanceof ApiError && error.response.status < 500 && !error.info.retryable)
    throw error;
  if (error instanceof CliError && (error.kind === "network" || error instanceof ApiError))
    return error.message;
  if (!(error instanceof CliError) || error.kind !== "failure") throw error;
  // An unreadable stream does not affect the run, which continues.
  throw runId === undefined
    ? new CliError(error.kind, error.message, { ...error.info, ...mayHaveStarted })
    : withResumeHint(error, runId);
}

/** Adds a hint: how to resume, or why the run was not found. */
export function explainError(error: unknown, runId: string | undefined, context: Context): unknown {
  if (context.signal.aborted) return withResumeHint(error, runId);
  return error instanceof ApiError && error.kind === "not-found"
    ? error.with({ hint: whyNotFound() })
    : error;
}

/** Four causes look alike (server §15.1). */
const whyNotFound = (): string =>
  `a run is visible only to the end user that started it (--user) with the key of its application (--app), and console runs are not visible; check the ID with ${commandLine("wf logs")}`;

/** Explains a failed form submission. */
export function explainFormError(
  error: unknown,
  runId: string | undefined,
  context: Context,
): unknown {
  if (context.signal.aborted) return withResumeHint(error, runId);
  if (!(error instanceof CliError)) return error;
  // A prompt was interrupted or had no valid reply: nothing was submitted.
  if (error.kind === "interrupted" || error.kind === "usage")
    return error.with({ details: { run: runId } });
  return error.with({
    details: { run: runId },
    hint:
      runId &&
      `run ${commandLine("wf events", [runId], { follow: true })} to see whether the run continued`,
  });
}

/** Adds how to follow the run again, which continues on the server. */
export const withResumeHint = (error: unknown, runId: string | undefined): unknown =>
  error instanceof CliError && runId !== undefined
    ? new CliError(error.kind, error.message, {
        ...error.info,
        sideEffect: undefined,
        hint: `the run continues; run ${commandLine("wf events", [runId], { follow: true })} to resume`,
      })
    : error;

const mayHaveStarted = {
  sideEffect: "unknown",
  hint: `the run may have started; check ${commandLine("wf logs")} before starting it again`,
} as const;

export const streamLost = (runId: string, reason: string): CliError =>
  new CliError("cut", `lost the event stream of run ${runId}: ${reason}`, {
    retryable: true,
    details: { run: runId },
    hint: `the run continues; run ${commandLine("wf events", [runId], { follow: true })} to resume`,
  });

/** The stream of a new run ended before its first event. */
export const noRunId = (reason: string): CliError =>
  new CliError(
    "network",
    `lost the event stream before the run ID was received: ${reason}`,
    mayHaveStarted,
  );
