import type { Events, ServerEvent } from "../api/events.ts";
import { CliError } from "../errors.ts";
import { finalOutcome } from "./following.ts";
import type { Followed } from "./following.ts";
import { readRecording } from "./recording.ts";
import { conclude } from "./run-outcome.ts";
import type { Outcome } from "./run-outcome.ts";
import type { Context } from "./task.ts";

/** Events handed on at once where no time lies between them. */
const together = 500;

/** Shows a recording as `wf events` showed the run, and ends as that run did. */
export async function* run(
  input: { readonly file: string; readonly speed?: string | undefined },
  context: Context,
): Events {
  const { runId, outcome } = yield* replayed(input.file, speedOf(input.speed, context), context);
  await conclude(runId, outcome, context.notice);
}

/**
 * Events of a recording with the time between them divided by `speed`; returns what became of the
 * run. Throws cut for a recording that ends before its run.
 */
export async function* replayed(path: string, speed: number, context: Context): Events<Followed> {
  let batch: ServerEvent[] = [];
  let now = 0;
  let runId = "";
  let outcome: Outcome | undefined;
  for await (const { at, event } of readRecording(path, context)) {
    const wait = (at - now) / speed;
    if (batch.length >= together || (wait >= 1 && batch.length > 0)) {
      yield batch;
      batch = [];
    }
    if (wait >= 1) {
      await context.host.sleep(wait, context.signal).catch(() => {
        throw context.interrupted();
      });
      now = at;
    }
    batch.push(event);
    if (runId === "") runId = String(event.data["workflow_run_id"] ?? "");
    if (event.event === "workflow_started") outcome = undefined;
    outcome = finalOutcome(event, false) ?? outcome;
  }
  if (batch.length > 0) yield batch;
  if (outcome) return { runId, outcome };
  throw new CliError("cut", `the recording ends before run ${runId} did`, {
    hint: `wf show ${runId} tells how it ended`,
  });
}

/** `5x`, `0.5x` or `max`; as it was on a terminal, at once in a pipe. */
function speedOf(text: string | undefined, { host }: Context): number {
  if (text === undefined) return host.stdout.isTTY ? 1 : Infinity;
  const number = /^(\d+(?:\.\d+)?)x?$/.exec(text)?.[1];
  if (text === "max") return Infinity;
  if (number !== undefined && Number(number) > 0) return Number(number);
  throw new CliError("usage", `--speed ${JSON.stringify(text)} is no speed`, {
    changed: "nothing",
    hint: "speeds look like 5x, 0.5x or max",
  });
}
