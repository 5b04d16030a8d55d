import { define } from "../../../lib/json.ts";
import type { EventBatches } from "../../../api/sse.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, reasonOf, usage } from "../../../errors.ts";
import { readRowFile } from "../../../lib/rows-file.ts";
import type { FileRow } from "../../../lib/rows-file.ts";
import { openFailedRows } from "../../failed-rows.ts";
import type { FollowResult } from "../follow/index.ts";
import type { MakeInputs } from "./inputs.ts";
import { uploadInputFiles } from "./upload-files.ts";
import { raiseOutcome, endingOf, isEnded } from "../../../runs/outcome.ts";
import { readRunState } from "../run-state.ts";
import type { Context } from "../../command-spec.ts";

/** Flags of `wf run` that apply to rows. */
interface EachInput {
  readonly each: string;
  readonly errors_to?: string | undefined;
  readonly concurrency?: number | undefined;
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

/** Result of one row, as printed. */
interface RowResult {
  readonly row: number;
  /** `unknown`: the run may have started, so it is not started again. */
  readonly status: string;
  readonly run: string | null;
  /** Seconds. */
  readonly elapsed: number | null;
  readonly outputs: unknown;
  readonly error: string | null;
}

interface Attempt {
  readonly result: RowResult;
  /** An error that any further row would meet as well. */
  readonly fatal?: CliError;
}

type Start = (inputs: Readonly<Record<string, unknown>>) => EventBatches<FollowResult>;

/** A default server serves ten connections (server §20). */
const DEFAULT_CONCURRENCY = 3;

/**
 * Starts one run for each row of a CSV or JSON Lines file; columns are inputs, which override those
 * of the command line. Checks every row before the first run starts. Yields the result of each row,
 * including rows that were not started. Throws the error that stopped it, or `partial` if runs failed.
 */
export async function* runEach(
  input: EachInput,
  makeInputs: MakeInputs,
  start: Start,
  context: Context,
): AsyncGenerator<RowResult> {
  const table = await readRowFile(input.each, await readBytes(input.each, context));
  const rows: (readonly [FileRow, Record<string, unknown>])[] = [];
  for (const row of table.rows) rows.push([row, await inputsOf(row, input, makeInputs)]);
  if (context.options.dryRun) {
    for (const [, inputs] of rows.slice(0, 1)) for await (const _ of start(inputs));
    return;
  }
  const writeFailedRows = await openFailedRows(input.errors_to, input.each, table, context.host);
  /** Status of each row that was attempted, by its number. */
  const statuses = new Map<number, string>();
  /** Whether a run may have started whose ID is unknown. */
  let hasUnknownRun = false;
  let fatal: CliError | undefined;
  const runOne = async ([row, inputs]: (typeof rows)[number]): Promise<RowResult> => {
    if (fatal || context.signal.aborted) return notStartedResult(row);
    const attempt = await attemptRow(row, inputs, start, context);
    const { result } = attempt;
    statuses.set(row.number, result.status);
    hasUnknownRun ||= result.status === "unknown" && result.run === null;
    fatal ??= attempt.fatal;
    return result;
  };
  const rowsWhere = (matches: (status: string) => boolean) =>
    table.rows.filter(({ number }) => matches(statuses.get(number) ?? notStarted));
  try {
    const limiter = context.limitConcurrency(input.concurrency ?? DEFAULT_CONCURRENCY);
    for await (const result of mapConcurrent(rows, limiter, runOne)) {
      context.progress({ done: result.row, total: rows.length, unit: "runs" });
      yield result;
    }
  } finally {
    await writeFailedRows(rowsWhere(canRetry)); // even if the consumer stops early
  }
  if (context.signal.aborted) fatal = context.abortError();
  const failed = rowsWhere((status) => !isSuccess(status)).length;
  if (failed === 0 && !fatal) return;
  const message = `${failed} of ${rows.length} runs did not succeed`;
  const hint = nextStep(input, rowsWhere(canRetry).length, rowsWhere(mayBeRunning).length);
  if (!fatal) {
    const details = { failed, rows: rows.length };
    throw new CliError("partial", message, { isResult: true, details, hint });
  }
  if (failed > 0) await context.notice(`${message}; ${hint}`);
  // The results are printed first: they show which runs were started.
  throw fatal.with({
    isResult: true,
    ...(context.signal.aborted && { hint, sideEffect: hasUnknownRun ? "unknown" : undefined }),
  });
}

const notStarted = "not started";

const isSuccess = (status: string) => status === "succeeded" || status === "partial-succeeded";

const canRetry = (status: string) =>
  status === notStarted || (isEnded(status) && !isSuccess(status));

/** Another run of such a row might be a duplicate. */
const mayBeRunning = (status: string) => status !== notStarted && !isEnded(status);

/** Explains where failed rows are, and which must not be retried. */
function nextStep({ errors_to }: EachInput, retryable: number, running: number): string {
  const collected =
    errors_to === undefined
      ? "add --errors-to FILE to collect their rows"
      : `their rows are in ${errors_to}`;
  if (running === 0) return collected;
  const runs = running === 1 ? "run" : "runs";
  return retryable === 0
    ? `${running} ${runs} may still be running; check \`wf logs\` before starting any again`
    : `${collected}, except ${running} whose ${runs} may still be running (see \`wf logs\`)`;
}

async function readBytes(path: string, { host }: Context): Promise<Uint8Array> {
  if (path === "-") {
    const chunks: Uint8Array[] = [];
    for await (const chunk of host.stdin.bytes()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  if ((await host.files.stat(path)) === null) throw usage(`--each: file ${path} not found`);
  return host.files.read(path);
}

/**
 * Merges the inputs of a row over those of the command line. CSV cells are text, as with --input; an
 * empty or null cell sets nothing.
 */
async function inputsOf(
  row: FileRow,
  { input = [], inputs }: EachInput,
  makeInputs: MakeInputs,
): Promise<Record<string, unknown>> {
  const cells = new Map(
    Object.entries(row.values).filter(([, value]) => value !== "" && value !== null),
  );
  const others = input.filter((each) => !cells.has(each.slice(0, each.indexOf("="))));
  const values = { ...(inputs as Readonly<Record<string, unknown>> | undefined) };
  const texts: string[] = [];
  for (const [name, value] of cells) {
    if (typeof value === "string") {
      delete values[name]; // or the row's files would be appended to them
      texts.push(`${name}=${value}`);
    } else define(values, name, value);
  }
  try {
    return await makeInputs({ input: [...others, ...texts], inputs: values });
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "usage") throw error;
    throw new CliError("usage", `row ${row.number}: ${error.message}`, error.info);
  }
}

const notStartedResult = ({ number }: FileRow): RowResult => ({
  row: number,
  status: notStarted,
  run: null,
  elapsed: null,
  outputs: null,
  error: null,
});

/** Runs one row to its end; never throws. */
async function attemptRow(
  row: FileRow,
  inputs: Record<string, unknown>,
  start: Start,
  context: Context,
): Promise<Attempt> {
  let run: string | null = null;
  try {
    const events = start(await uploadInputFiles(inputs, context));
    let next = await events.next();
    while (!next.done) {
      const id = next.value[0]?.data["workflow_run_id"];
      if (typeof id === "string") run ??= id;
      next = await events.next();
    }
    const { runId, outcome } = next.value;
    run = runId;
    const { record, status: recorded } = await readRunState(run, context);
    const status = isEnded(recorded) ? recorded : endingOf(outcome);
    const error = await raiseOutcome(run, outcome, () => Promise.resolve()).then(
      () => null,
      (thrown: unknown) =>
        context.host.secrets.masked(thrown instanceof CliError ? thrown.message : String(thrown)),
    );
    const { outputs, elapsed_time: elapsed } = record;
    return { result: { row: row.number, status, run, elapsed, outputs, error } };
  } catch (thrown) {
    const status = run === null ? statusWithoutRun(thrown) : "unknown";
    const result = { ...notStartedResult(row), status, run, error: reasonOf(thrown) };
    if (!(thrown instanceof CliError)) {
      const message = `no further run was started: ${reasonOf(thrown)}`;
      return { result, fatal: new CliError("failure", message, { cause: thrown }) };
    }
    const isFatal = thrown.kind === "auth" || thrown.kind === "unsupported";
    return isFatal ? { result, fatal: thrown } : { result };
  }
}

/** Status of a row whose run got no ID before this error. */
function statusWithoutRun(error: unknown): string {
  if (!(error instanceof CliError) || error.info.sideEffect === "unknown") return "unknown";
  return error.kind === "refused" || error.kind === "limited" ? "failed" : notStarted;
}
