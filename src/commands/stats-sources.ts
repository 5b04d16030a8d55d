import { seenIds } from "../api/seen.ts";
import { secondsIn, timeOf } from "../api/windows.ts";
import { CliError } from "../errors.ts";
import type { FileInput, Input } from "../operations/operation.ts";
import * as workflows from "../operations/workflows.ts";
import { runsOfFile } from "./log-file.ts";
import { isOpen, loggedRun } from "./logged-run.ts";
import type { LoggedRun } from "./logged-run.ts";
import type { Span } from "./stats-report.ts";
import type { Context } from "./task.ts";

/** Which runs are wanted. */
export interface Filters extends Pick<
  Input<typeof workflows.logs.params>,
  "keyword" | "status" | "created_by_end_user_session_id" | "created_by_account"
> {
  readonly until?: string | undefined;
}

/** Unix seconds, both included; open where nothing is said. */
interface Bounds {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** The time that was asked for, and the one before it, to compare with. */
export interface Asked extends Bounds {
  readonly before: Span | undefined;
}

/** Where the runs of both times go. */
export interface Sink {
  now(run: LoggedRun): void;
  before(run: LoggedRun): void;
}

/** Reads both times from the server. Gives the error when it hid runs that it counts. */
export async function fromServer(
  filters: Filters,
  { since, before }: Asked,
  sink: Sink,
  context: Context,
): Promise<CliError | undefined> {
  const { keyword, status, created_by_end_user_session_id: user, created_by_account } = filters;
  // With both filters the server fails (server §12): one of them is ours.
  const userHere = keyword !== undefined && user !== undefined;
  const sent = {
    keyword,
    status,
    created_by_end_user_session_id: userHere ? undefined : user,
    created_by_account,
  };
  let incomplete: CliError | undefined;
  const read = async ({ since: from, until: to }: Bounds, take: Sink["now"]) => {
    const edges = {
      created_at__after: from === undefined ? undefined : timeOf(from),
      created_at__before: to === undefined ? undefined : timeOf(to),
    };
    try {
      for await (const log of context.each(workflows.logs, { ...sent, ...edges })) {
        const run = loggedRun(log);
        if (run && (!userHere || run.user === user)) take(run);
      }
    } catch (error) {
      if (!(error instanceof CliError) || !error.told.verdict) throw error;
      incomplete ??= error;
    }
  };
  // Where no end was asked for it is the server's now, not ours.
  const until = secondsIn(filters.until, Math.floor);
  await read({ since, until }, sink.now);
  if (before) {
    await context.trace(1, `to compare, ${timeOf(before.since)} to ${timeOf(before.until)}`);
    await read(before, sink.before);
  }
  return incomplete;
}

/** Damaged lines that are named one by one. */
const mostNamed = 5;

/** Reads both times from a file, in one go. Gives the error when lines of it were of no use. */
export async function fromFile(
  file: FileInput,
  filters: Filters,
  { since, until, before }: Asked,
  sink: Sink,
  context: Context,
): Promise<CliError | undefined> {
  const { keyword, status, created_by_end_user_session_id, created_by_account } = filters;
  if (keyword !== undefined) {
    throw new CliError("usage", "--keyword is looked for by the server, not in a file", {
      changed: "nothing",
      hint: `wf logs --keyword ${JSON.stringify(keyword)} --all -o jsonl > runs.jsonl`,
    });
  }
  const users = [created_by_end_user_session_id, created_by_account];
  const damaged: { line: number; reason: string }[] = [];
  const counts = { damaged: 0, again: 0, timeless: 0 };
  const runs = runsOfFile(file, context, (line, reason) => {
    counts.damaged++;
    if (damaged.length < mostNamed) damaged.push({ line, reason });
  });
  for await (const run of onceEach(runs, () => counts.again++)) {
    if (status !== undefined && run.status !== status) continue;
    if (users.some((user) => user !== undefined && user !== run.user)) continue;
    if (since === undefined && until === undefined) sink.now(run);
    else if (run.at === undefined) counts.timeless++;
    else if (isIn(run.at, { since, until })) sink.now(run);
    else if (before && isIn(run.at, before)) sink.before(run);
  }
  if (counts.again > 0)
    await context.notice(`${counts.again} rows stand there again: counted once`);
  if (counts.timeless > 0)
    await context.notice(`${counts.timeless} rows do not say when they started: left out`);
  for (const { line, reason } of damaged)
    await context.notice(`${file.name} line ${line}: ${reason}; left out`);
  if (counts.damaged === 0) return undefined;
  return new CliError("partial", `${counts.damaged} damaged lines of ${file.name} are left out`, {
    verdict: true,
    details: { file: file.name, damaged: counts.damaged, first: damaged },
  });
}

const isIn = (at: number, { since = -Infinity, until = Infinity }: Bounds) =>
  at >= since && at <= until;

/**
 * Each run once. A run that has not ended may stand in the file again, as `wf logs --follow` writes
 * it: what it became counts, and where nothing is known of that, how it stood last.
 */
async function* onceEach(
  runs: AsyncIterable<LoggedRun>,
  again: () => void,
): AsyncGenerator<LoggedRun> {
  const seen = seenIds();
  const open = new Map<string, LoggedRun>();
  for await (const run of runs) {
    if (run.id === undefined) yield run;
    else if (isOpen(run)) open.set(run.id, run);
    else if (seen.add(run.id)) yield run;
    else again();
  }
  for (const [id, run] of open) if (seen.add(id)) yield run;
}
