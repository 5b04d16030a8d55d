import { CliError } from "../errors.ts";

/** How a run ended or stands, from its final event or its detail. */
export interface RunOutcome {
  readonly status: string;
  readonly error?: string | null | undefined;
  readonly exceptions?: number | undefined;
  /** Open forms of a paused run: token and the ids of the actions. */
  readonly forms?: readonly Form[];
  /** Why the answers that were given did not answer the forms of a paused run. */
  readonly unanswered?: string | undefined;
}

/** A form that waits, as far as it takes to answer it. */
export interface Form {
  readonly token: string;
  /** Title and id of the node that asks. */
  readonly node?: string | undefined;
  readonly nodeId?: string | undefined;
  /** Ids of the actions. */
  readonly actions: readonly string[];
  /** Inputs that have no value yet. */
  readonly inputs: readonly string[];
}

/** The line that answers a form. */
function lineFor({ token, actions: [action = "…", ...others], inputs }: Form): string {
  const values = inputs.map((name) => ` --input ${name}=…`).join("");
  const or = others.length > 0 ? ` (or --action ${others.join(", ")})` : "";
  return `wf form submit ${token} --action ${action}${values}${or}`;
}

/** Statuses after which nothing more happens (server §7). */
export const isEnded = (status: string): boolean =>
  ["succeeded", "failed", "stopped", "partial-succeeded"].includes(status);

/**
 * Turns what became of a run into the end of the command: nothing for success, a notice for
 * partial success, `remote-failed` or `paused` thrown otherwise.
 */
export async function raiseOutcome(
  runId: string,
  outcome: RunOutcome,
  notice: (text: string) => Promise<void>,
): Promise<void> {
  const { status, error, exceptions, forms = [], unanswered } = outcome;
  if (status === "succeeded") return;
  if (status === "partial-succeeded") {
    // The server counts failed attempts: a retry that succeeded is one, too (server §13).
    await notice(
      `run ${runId} partial-succeeded: ${exceptions ?? "some"} failed ${exceptions === 1 ? "attempt was" : "attempts were"} retried or handled by an error branch or a default value`,
    );
    return;
  }
  if (status === "paused") {
    const [form] = forms;
    const why = unanswered === undefined ? "" : `: ${unanswered}`;
    throw new CliError("paused", `run ${runId} waits for a person${why}`, {
      isResult: true,
      details: { run: runId, forms },
      hint: form ? lineFor(form) : `wf events ${runId} shows the form`,
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
      hint: `wf show ${runId} has the detail`,
    },
  );
}

/** How the run stands. A stopped run's live stream says `failed`; the text tells (server §13). */
export const endingOf = ({ status, error }: RunOutcome): string =>
  /^(Aborted|Stopped by user)/.test(error ?? "") ? "stopped" : status;
