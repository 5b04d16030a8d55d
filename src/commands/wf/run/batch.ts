import { define } from "../../../lib/json.ts";
import type { EventBatches } from "../../../api/sse.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, reasonOf, withInfo } from "../../../errors.ts";
import { refuseDuplicates, readRowFile } from "../../../lib/rows-file.ts";
import type { FileRow } from "../../../lib/rows-file.ts";
import { openFailedRows } from "../../failed-rows.ts";
import type { FollowResult } from "../follow/index.ts";
import { uploadInputFiles } from "./upload-files.ts";
import { raiseOutcome, endingOf, isEnded } from "../../../runs/outcome.ts";
import { readRunState } from "../run-state.ts";
import type { Context } from "../../command-spec.ts";

/** What of `wf run` concerns many runs. */
interface EachInput {
  readonly each: string;
  readonly errors_to?: string | undefined;
  readonly concurrency?: number | undefined;
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

/** What became of one row. */
interface RowResult {
  readonly row: number;
  /** `unknown`: it may have started; it is not started again. */
  readonly status: string;
  readonly run: string | null;
  /** Seconds. */
  readonly elapsed: number | null;
  readonly outputs: unknown;
  readonly error: string | null;
}

/** Runs at once where nothing is said: a stock server serves ten connections (server §20). */
const usualLanes = 3;

/** What became of a row, and the error when no further row is to be tried. */
interface Attempt {
  readonly result: RowResult;
  readonly stop?: CliError;
}

/** Inputs as they are made from a line and a row. */
type Make = (given: {
  readonly input: readonly string[];
  readonly inputs: Readonly<Record<string, unknown>>;
}) => Promise<Record<string, unknown>>;

type Start = (inputs: Readonly<Record<string, unknown>>) => EventBatches<FollowResult>;

/**
 * One run for each row of a CSV or JSON Lines file, whose columns are the inputs' names; what stands
 * on the line holds for the rows that say nothing else. Every row is checked before the first run
 * starts. Yields what became of each, also of those that were not started; throws, as a verdict,
 * what would have met every further row, and partial when some failed.
 */
export async function* runEach(
  input: EachInput,
  make: Make,
  start: Start,
  context: Context,
): AsyncGenerator<RowResult> {
  const table = await readRowFile(input.each, await bytesOf(input.each, context));
  if (table.columns) refuseDuplicates(input.each, table.columns);
  const rows: (readonly [FileRow, Record<string, unknown>])[] = [];
  for (const row of table.rows) {
    rows.push([row, await valuesOf(row, input, make)]);
  }
  if (context.options.dryRun) {
    for (const [, values] of rows.slice(0, 1)) for await (const _ of start(values));
    return;
  }
  const collect = await openFailedRows(input.errors_to, input.each, table, context.host);
  /** How each row stands, by its number; none of those that were not begun. */
  const statuses = new Map<number, string>();
  /** Was a run sent of which nobody knows whether it started? */
  let unnamed = false;
  let reason: CliError | undefined;
  const one = async ([row, values]: (typeof rows)[number]): Promise<RowResult> => {
    if (reason || context.signal.aborted) return notStarted(row);
    const { result, stop } = await oneRun(row, values, start, context);
    statuses.set(row.number, result.status);
    unnamed ||= result.status === "unknown" && result.run === null;
    reason ??= stop;
    return result;
  };
  const rowsThat = (are: (status: string) => boolean) =>
    table.rows.filter(({ number }) => are(statuses.get(number) ?? unbegun));
  try {
    for await (const result of mapConcurrent(
      rows,
      context.limitConcurrency(input.concurrency ?? usualLanes),
      one,
    )) {
      context.progress({ done: result.row, total: rows.length, unit: "runs" });
      yield result;
    }
  } finally {
    await collect(rowsThat(mayBeginAgain)); // whatever ended it: also where nobody reads on
  }
  if (context.signal.aborted) reason = context.abortError();
  const failed = rowsThat((status) => !isGood(status)).length;
  if (failed === 0 && !reason) return;
  const message = `${failed} of ${rows.length} runs did not succeed`;
  const hint = whatNow(input, rowsThat(mayBeginAgain).length, rowsThat(mayGoOn).length);
  if (reason) {
    if (failed > 0) await context.notice(`${message}; ${hint}`);
    // Its results are printed whole: they tell which runs were started.
    throw withInfo(reason, {
      isResult: true,
      ...(context.signal.aborted && { hint, sideEffect: unnamed ? "unknown" : undefined }),
    });
  }
  const details = { failed, rows: rows.length };
  throw new CliError("partial", message, { isResult: true, details, hint });
}

/** Where no run was begun. */
const unbegun = "not started";

const isGood = (status: string) => status === "succeeded" || status === "partial-succeeded";

const mayBeginAgain = (status: string) =>
  status === unbegun || (isEnded(status) && !isGood(status));

/** Begun and not over, as far as is known: begun again it would be there twice. */
const mayGoOn = (status: string) => status !== unbegun && !isEnded(status);

/** What to do about the rows whose runs did not succeed. */
function whatNow({ errors_to }: EachInput, again: number, open: number): string {
  const collected =
    errors_to === undefined
      ? "--errors-to FILE collects their rows"
      : `their rows are in ${errors_to}`;
  if (open === 0) return collected;
  const runs = open === 1 ? "run" : "runs";
  return again === 0
    ? `${open} ${runs} may go on (wf logs shows them): look before starting any again`
    : `${collected}, except ${open} whose ${runs} may go on (wf logs shows them)`;
}

async function bytesOf(path: string, { host }: Context): Promise<Uint8Array> {
  if (path === "-") {
    const pieces: Uint8Array[] = [];
    for await (const piece of host.stdin.bytes()) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  if ((await host.files.stat(path)) === null)
    throw new CliError("usage", `--each: there is no file ${path}`, { sideEffect: "none" });
  return host.files.read(path);
}

/**
 * The inputs of a row, over those of the line. Cells of CSV are text, as with --input; an empty one
 * says nothing, nor does null.
 */
async function valuesOf(
  row: FileRow,
  { input = [], inputs }: EachInput,
  make: Make,
): Promise<Record<string, unknown>> {
  const cells = new Map(row.cells.filter(([, value]) => value !== "" && value !== null));
  const ofLine = input.filter((each) => !cells.has(each.slice(0, each.indexOf("="))));
  const values = { ...(inputs as Readonly<Record<string, unknown>> | undefined) };
  const texts: string[] = [];
  for (const [name, value] of cells) {
    if (typeof value === "string") {
      delete values[name]; // files of the line would be joined by those of the row
      texts.push(`${name}=${value}`);
    } else define(values, name, value);
  }
  try {
    return await make({ input: [...ofLine, ...texts], inputs: values });
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "usage") throw error;
    throw new CliError("usage", `row ${row.number}: ${error.message}`, error.info);
  }
}

const notStarted = ({ number }: FileRow): RowResult => ({
  row: number,
  status: unbegun,
  run: null,
  elapsed: null,
  outputs: null,
  error: null,
});

async function oneRun(
  row: FileRow,
  values: Record<string, unknown>,
  start: Start,
  context: Context,
): Promise<Attempt> {
  let run: string | null = null;
  try {
    const events = start(await uploadInputFiles(values, context));
    let next = await events.next();
    while (!next.done) {
      const id = next.value[0]?.data["workflow_run_id"];
      if (typeof id === "string") run ??= id;
      next = await events.next();
    }
    run = next.value.runId;
    const { outcome } = next.value;
    const { masked } = context.host.secrets;
    const { record, status: stands } = await readRunState(run, context);
    const status = isEnded(stands) ? stands : endingOf(outcome);
    const error = await raiseOutcome(run, outcome, () => Promise.resolve()).then(
      () => null,
      (why: unknown) => masked(why instanceof CliError ? why.message : String(why)),
    );
    const { outputs, elapsed_time: elapsed } = record;
    return { result: { row: row.number, status, run, elapsed, outputs, error } };
  } catch (thrown) {
    const known = thrown instanceof CliError;
    const never = known && run === null && thrown.info.sideEffect !== "unknown";
    const refused = never && (thrown.kind === "refused" || thrown.kind === "limited");
    const status = never ? (refused ? "failed" : unbegun) : "unknown";
    const result = { ...notStarted(row), status, run, error: reasonOf(thrown) };
    if (!known) {
      const message = `no further run was started: ${reasonOf(thrown)}`;
      return { result, stop: new CliError("failure", message, { cause: thrown }) };
    }
    const meetsAll = thrown.kind === "auth" || thrown.kind === "unsupported";
    return meetsAll ? { result, stop: thrown } : { result };
  }
}
