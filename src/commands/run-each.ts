import type { Events } from "../api/events.ts";
import { mapped } from "../api/mapped.ts";
import { CliError } from "../errors.ts";
import * as workflows from "../operations/workflows.ts";
import { tableOf } from "../table-file.ts";
import type { Row } from "../table-file.ts";
import type { Followed } from "./following.ts";
import { uploaded } from "./input-files.ts";
import { conclude } from "./run-outcome.ts";
import type { Context } from "./task.ts";

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

/**
 * One run for each row of a CSV or JSON Lines file, whose columns are the inputs' names; what stands
 * on the line holds for all. Every row is checked before the first run starts. Yields what became of
 * each; throws partial when some failed.
 */
export async function* runEach(
  input: EachInput,
  make: (given: {
    readonly input?: readonly string[];
    readonly inputs?: unknown;
  }) => Promise<Record<string, unknown>>,
  start: (body: { readonly inputs: Record<string, unknown> }) => Events<Followed>,
  context: Context,
): AsyncGenerator<RowResult> {
  const table = await tableOf(input.each, await bytesOf(input.each, context));
  const rows: (readonly [Row, Record<string, unknown>])[] = [];
  for (const row of table.rows) {
    rows.push([row, await valuesOf(row, input, make)]);
  }
  if (context.asked.dryRun) {
    for (const [, values] of rows.slice(0, 1)) for await (const _ of start({ inputs: values }));
  }
  const failed: Row[] = [];
  let done = 0;
  const one = ([row, values]: readonly [Row, Record<string, unknown>]) =>
    context.signal.aborted ? Promise.resolve(notStarted(row)) : oneRun(row, values, start, context);
  try {
    for await (const result of mapped(rows, context.lanes(input.concurrency ?? usualLanes), one)) {
      const row = rows[result.row - 1]?.[0];
      if (row && result.status !== "succeeded" && result.status !== "partial-succeeded")
        failed.push(row);
      context.progress({ done: ++done, total: rows.length, unit: "runs" });
      yield result;
    }
  } finally {
    if (input.errors_to !== undefined)
      await context.host.files.writeAtomic(input.errors_to, table.withOnly(failed));
  }
  if (context.signal.aborted) throw context.interrupted();
  if (failed.length === 0) return;
  throw new CliError("partial", `${failed.length} of ${rows.length} runs did not succeed`, {
    verdict: true,
    details: { failed: failed.length, rows: rows.length },
    hint:
      input.errors_to === undefined
        ? "--errors-to FILE collects their rows"
        : `their rows are in ${input.errors_to}`,
  });
}

async function bytesOf(path: string, { host }: Context): Promise<Uint8Array> {
  if (path === "-") {
    const pieces: Uint8Array[] = [];
    for await (const piece of host.stdin.bytes()) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  if ((await host.files.stat(path)) === null)
    throw new CliError("usage", `--each: there is no file ${path}`, { changed: "nothing" });
  return host.files.read(path);
}

/** The inputs of a row; cells of CSV are text, as with --input, and an empty one says nothing. */
async function valuesOf(
  row: Row,
  { input = [], inputs }: EachInput,
  make: Parameters<typeof runEach>[1],
): Promise<Record<string, unknown>> {
  const texts = row.cells.filter(([, value]) => typeof value === "string" && value !== "");
  const others = row.cells.filter(([, value]) => typeof value !== "string");
  try {
    return await make({
      input: [...input, ...texts.map(([name, value]) => `${name}=${String(value)}`)],
      inputs: { ...(inputs as object | undefined), ...Object.fromEntries(others) },
    });
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== "usage") throw error;
    throw new CliError("usage", `row ${row.number}: ${error.message}`, error.told);
  }
}

const notStarted = ({ number }: Row): RowResult => ({
  row: number,
  status: "not started",
  run: null,
  elapsed: null,
  outputs: null,
  error: null,
});

async function oneRun(
  row: Row,
  values: Record<string, unknown>,
  start: Parameters<typeof runEach>[2],
  context: Context,
): Promise<RowResult> {
  let run: string | null = null;
  try {
    const events = start({ inputs: await uploaded(values, context) });
    let next = await events.next();
    while (!next.done) {
      const id = next.value[0]?.data["workflow_run_id"];
      if (typeof id === "string") run ??= id;
      next = await events.next();
    }
    run = next.value.runId;
    const { outcome } = next.value;
    const { masked } = context.host.secrets;
    const detail = await context.call(workflows.show, { workflow_run_id: run });
    const error = await conclude(run, outcome, () => Promise.resolve()).then(
      () => null,
      (why: unknown) => masked(why instanceof CliError ? why.message : String(why)),
    );
    const { outputs, elapsed_time: elapsed } = detail;
    return { row: row.number, status: detail.status, run, elapsed, outputs, error };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    // What would meet every further row ends the command.
    if (error.kind === "auth" || error.kind === "unsupported") throw error;
    const never = run === null && error.told.changed !== "unknown";
    const status = never ? "not started" : "unknown";
    return { ...notStarted(row), status, run, error: error.message };
  }
}
