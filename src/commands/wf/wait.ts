import { CliError } from "../../errors.ts";
import type { WorkflowRun } from "../../operations/workflows.ts";
import { raiseOutcome, isEnded } from "../../runs/outcome.ts";
import { outdatedNotice, readRunState } from "./run-state.ts";
import type { Context } from "../command-spec.ts";

/** ms between two looks, growing from the first to the last. */
const first = 500;
const last = 10_000;
/** Failed looks in a row before giving up. */
const budget = 10;
/**
 * ms of `running` after which a notice says so. A server ends every run after 20 minutes, unless it
 * is configured otherwise (server §13), but the record of a stopped one can say `running` for ever.
 */
const remarkable = 20 * 60_000;
/** The same after which waiting ends, where no --timeout says when. */
const longestRunning = 60 * 60_000;

/**
 * Waits until a run has ended, or waits for a person, by looking at its detail, which is then
 * yielded. Ends with what became of it (conclude); survives a server that is away for a while. Throws
 * `cut` where nothing is known to come any more.
 */
export async function* run(
  input: { readonly workflow_run_id: string; readonly through_pauses?: boolean | undefined },
  context: Context,
): AsyncGenerator<WorkflowRun> {
  const { workflow_run_id } = input;
  let failures = 0;
  /** When the record first said that the run is running, and whether that was remarked upon. */
  let since = context.host.elapsed();
  let remarked = false;
  for (let wait = first; ; wait = Math.min(last, wait * 1.5)) {
    try {
      const found = await readRunState(workflow_run_id, context);
      failures = 0;
      const { status, record } = found;
      if (isEnded(status) || (status === "paused" && !input.through_pauses)) {
        if (found.outdated) await context.notice(outdatedNotice(workflow_run_id, found));
        yield record;
        await raiseOutcome(workflow_run_id, found, context.notice);
        return;
      }
      if (status === "paused") since = context.host.elapsed();
      const running = context.host.elapsed() - since;
      if (running > longestRunning && !context.options.deadline) throw tooLong(workflow_run_id);
      if (running > remarkable && !remarked) {
        remarked = true;
        await context.notice(
          `run ${workflow_run_id} has been running for ${minutes(running)} here, by its record; wf events ${workflow_run_id} shows whether anything still happens`,
        );
      }
      await context.trace(1, `run ${workflow_run_id} is ${status}`);
    } catch (error) {
      if (context.signal.aborted) throw resumable(error, workflow_run_id);
      const away = error instanceof CliError && error.info.retryable === true;
      if (!away || ++failures >= budget) throw error;
      await context.notice(`${error.message}; looking again`);
    }
    await context.host.sleep(wait, context.signal).catch(() => {
      throw resumable(context.abortError(), workflow_run_id);
    });
  }
}

const minutes = (ms: number) => `${Math.round(ms / 60_000)} minutes`;

const tooLong = (run: string) =>
  new CliError(
    "cut",
    `gave up on run ${run}: its record has said running for ${minutes(longestRunning)}, which it also says of some runs that were stopped`,
    {
      details: { run },
      hint: `wf events ${run} shows whether anything still happens; --timeout sets another limit`,
    },
  );

const resumable = (error: unknown, run: string): unknown =>
  error instanceof CliError
    ? new CliError(error.kind, error.message, {
        ...error.info,
        sideEffect: undefined,
        hint: `the run goes on; wf wait ${run} waits again`,
      })
    : error;
