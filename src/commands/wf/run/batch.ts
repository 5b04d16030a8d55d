import { define } from "../../../lib/json.ts";
import type { EventBatches, EventStage } from "../../../api/sse.ts";
import { CliError, isFatal } from "../../../errors.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import { rowPlace } from "../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../lib/formats/rows-file.ts";
import { endingOf, isEnded, isSuccess, raiseOutcome } from "../../../runs/outcome.ts";
import { batch, withBatchFile } from "../../batch/index.ts";
import type { BatchRow, RowAttempt, Sending } from "../../batch/index.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { runParams } from "./command.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import { readRunState } from "../runs/index.ts";
import type { RunState } from "../../../follow/run-state.ts";
import type { MakeInputs } from "./inputs.ts";
import { uploadInputFiles } from "../forms/index.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** Input of `wf run` with --each. */
type EachInput = Input<typeof runParams> & { readonly each: string };

/** Result of one row, as printed. */
interface RowResult {
  readonly row: number;
  /** The server's status of the run; `unknown` if the run may have started, so it is not started again. */
  readonly status: string;
  readonly run: string | null;
  /** Seconds. */
  readonly elapsed: number | null;
  readonly outputs: unknown;
  readonly error: string | null;
}

type Inputs = Readonly<Record<string, unknown>>;

/** Follows the run of a row: one to start, or one that an interrupted command has started. */
type Follow = (run: RowRun) => EventBatches<FollowResult>;
export type RowRun = { readonly inputs: Inputs } | { readonly runId: string };

/**
 * Starts one run for each row of a CSV or JSON Lines file; columns are inputs, which override those
 * of the command line. Yields the result of each row, including rows that were not started. Throws as
 * a batch does.
 */
export function runEach(
  input: EachInput,
  makeInputs: MakeInputs,
  follow: Follow,
  context: Context,
): AsyncGenerator<RowResult> {
  const { errors_to, stop_on_error, each, ...values } = input;
  return withBatchFile(each, context, async function* (file) {
    const results = batch<Inputs, RowResult>(
      {
        file,
        identity: ["wf run", values],
        errorsTo: errors_to,
        stopOnError: stop_on_error,
        unknownPlace: ` in ${commandLine("wf logs")}`,
        rows: () =>
          Promise.resolve(async function* (): AsyncGenerator<BatchRow<Inputs>> {
            for await (const { rows } of file.parts())
              for (const row of rows) yield { row, input: await inputsOf(row, input, makeInputs) };
          }),
        isRepeatable: () => false,
        attempt: (inputs, row) => attempt(inputs, row, follow, context),
        interrupted: (_, row, run) => interrupted(row, run, follow, context),
        unsent: (row, end, run) =>
          resultOf(row, { status: end === "not sent" ? "not started" : end, run }),
      },
      context,
    );
    for await (const { result } of results) yield result;
  });
}

/**
 * Merges the inputs of a row over those of the command line. CSV cells are text, as with --input; an
 * empty or null cell sets nothing.
 */
async function inputsOf(
  row: FileRow,
  { input = [], inputs, each }: EachInput,
  makeInputs: MakeInputs,
): Promise<Record<string, unknown>> {
  const cells = new Map(
    Object.entries(row.values).filter(([, value]) => value !== "" && value !== null),
  );
  const others = input.filter((each) => !cells.has(each.slice(0, each.indexOf("="))));
  const values = { ...(inputs as Inputs | undefined) };
  const texts: string[] = [];
  for (const [name, value] of cells) {
    if (typeof value === "string") {
      delete values[name]; // or the row's files would be appended to them
      texts.push(`${name}=${value}`);
    } else define(values, name, value);
  }
  try {
    const from = { file: each, names: cells };
    return await makeInputs({ input: [...others, ...texts], inputs: values }, from);
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "usage") throw error;
    throw new CliError("usage", `${rowPlace(row)}: ${error.message}`, error.info);
  }
}

const resultOf = (row: number, known: Partial<RowResult> & { status: string }): RowResult => ({
  row,
  run: null,
  elapsed: null,
  outputs: null,
  error: null,
  ...known,
});

/** Runs one row to its end. Throws what ends the batch: internal errors, and read-only mode. */
async function attempt(
  inputs: Inputs,
  { number, created }: Sending,
  follow: Follow,
  context: Context,
): Promise<RowAttempt<RowResult>> {
  let run: string | null = null;
  try {
    const events = follow({ inputs: await uploadInputFiles(inputs, context) });
    const recordStart: EventStage<FollowResult> = {
      async batch(received) {
        const id = received[0]?.fields.workflow_run_id;
        if (run === null && id !== undefined) {
          run = id;
          await created(run);
        }
        return received;
      },
      end({ runId }) {
        run = runId; // also if its record cannot be read
      },
    };
    return await followedRun(number, pipe(events, recordStart), context);
  } catch (error) {
    return failedRow(number, run, error);
  }
}

/** Follows a run that was interrupted to its end, if its ID was recorded. Throws internal errors only. */
async function interrupted(
  row: number,
  run: string | undefined,
  follow: Follow,
  context: Context,
): Promise<RowAttempt<RowResult>> {
  const error = "sent by an interrupted run; it may have started";
  if (run === undefined)
    return { end: "unknown", result: resultOf(row, { status: "unknown", error }) };
  try {
    const state = await readRunState(run, context);
    return isEnded(state.status)
      ? await endedRun(row, run, state, context)
      : await followedRun(row, follow({ runId: run }), context);
  } catch (failure) {
    return failedRow(row, run, failure);
  }
}

/** Follows the events of a run to its end or a pause, and reads its record. */
async function followedRun(
  row: number,
  events: EventBatches<FollowResult>,
  context: Context,
): Promise<RowAttempt<RowResult>> {
  const { runId, outcome } = await resultOfStream(events);
  const state = await readRunState(runId, context);
  const status = isEnded(state.status) ? state.status : endingOf(outcome);
  return endedRun(row, runId, { ...state, ...outcome, status }, context);
}

/** The result of a row whose run was not started, or not followed to its end. */
function failedRow(row: number, run: string | null, thrown: unknown): RowAttempt<RowResult> {
  if (!(thrown instanceof CliError) || thrown.info.code === "read-only") throw thrown;
  // With the ID of the run it is known what has changed.
  const error = run === null ? thrown : thrown.with({ sideEffect: undefined });
  const { kind, message, info } = error;
  const isUnknown = run !== null || info.sideEffect === "unknown";
  const rejected = kind === "refused" || kind === "limited" ? "failed" : "not started";
  const status = isUnknown ? "unknown" : rejected;
  return {
    end: isUnknown ? "unknown" : "failed",
    id: run,
    result: resultOf(row, { status, run, error: message }),
    // The key belongs to this application alone.
    stop: isFatal(error) || kind === "auth" ? error : undefined,
  };
}

/** The result of a run that has ended or is paused; another run of its row may be a duplicate. */
async function endedRun(
  row: number,
  run: string,
  state: RunState,
  { host }: Context,
): Promise<RowAttempt<RowResult>> {
  const { record, status } = state;
  const error = await raiseOutcome(run, state, () => Promise.resolve()).then(
    () => null,
    (thrown: unknown) =>
      host.secrets.masked(thrown instanceof CliError ? thrown.message : String(thrown)),
  );
  const { outputs, elapsed_time: elapsed } = record;
  // Without what other columns tell: `node Fetch: connection refused`.
  const why = error && error.replace(`run ${run} `, "").replace(/^failed(?: at |: )/, "");
  const ended = isSuccess(status) ? "ok" : "failed";
  return {
    end: isEnded(status) ? ended : "unknown",
    id: run,
    result: resultOf(row, { status, run, elapsed, outputs, error: why }),
  };
}
