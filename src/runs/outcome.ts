import { CliError } from "../errors.ts";

/** How a run ended or paused, from its final event or its record. */
export interface RunOutcome {
  readonly status: string;
  readonly error?: string | null | undefined;
  readonly exceptions?: number | undefined;
  /** Open forms of a paused run. */
  readonly forms?: readonly Form[];
  /** Why no answer of --answer matched the forms of a paused run. */
  readonly unanswered?: string | undefined;
}

/** An open form. */
export interface Form {
  readonly token: string;
  /** Title and ID of its node. */
  readonly node?: string | undefined;
  readonly nodeId?: string | undefined;
  /** IDs of the actions. */
  readonly actions: readonly string[];
  /** Inputs without a value. */
  readonly inputs: readonly string[];
}

/** The command that submits a form. */
function submitCommand({ token, actions: [action = "…", ...others], inputs }: Form): string {
  const values = inputs.map((name) => ` --input ${name}=…`).join("");
  const or = others.length > 0 ? ` (or --action ${others.join(", ")})` : "";
  return `wf form submit ${token} --action ${action}${values}${or}`;
}

/** Whether a run with this status has ended (server §7). */
export const isEnded = (status: string): boolean =>
  ["succeeded", "failed", "stopped", "partial-succeeded"].includes(status);

/**
 * Ends a command with the outcome of its run: prints a notice for partial success, throws
 * `remote-failed` or `paused` if the run did not succeed.
 */
export async function raiseOutcome(
  runId: string,
  outcome: RunOutcome,
  notice: (text: string) => Promise<void>,
): Promise<void> {
  const { status, error, exceptions, forms = [], unanswered } = outcome;
  if (status === "succeeded") return;
  if (status === "partial-succeeded") {
    // The server counts failed attempts, even if a retry succeeded (server §13).
    await notice(
      `run ${runId} partial-succeeded: ${exceptions ?? "some"} failed ${exceptions === 1 ? "attempt was" : "attempts were"} retried or handled by an error branch or a default value`,
    );
    return;
  }
  if (status === "paused") {
    const [form] = forms;
    const why = unanswered === undefined ? "" : `: ${unanswered}`;
    throw new CliError("paused", `run ${runId} is waiting for human input${why}`, {
      isResult: true,
      details: { run: runId, forms },
      hint: form ? submitCommand(form) : `wf events ${runId}`,
    });
  }
  const stopped = endingOf(outcome) === "stopped";
  throw new CliError(
    "remote-failed",
    `run ${runId} ${stopped ? "was stopped" : status}${error ? `: ${error}` : ""}`,
    {
      code: stopped ? "stopped" : "failed",
      isResult: true,
      details: { run: runId, status: endingOf(outcome) },
      hint: `wf show ${runId}`,
    },
  );
}

/** The status of a run. A stopped run streams `failed`; only its error text differs (server §13). */
export const endingOf = ({ status, error }: RunOutcome): string =>
  /^(Aborted|Stopped by user)/.test(error ?? "") ? "stopped" : status;
