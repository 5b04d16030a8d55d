import { percentile } from "../../../lib/statistics/averages.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { Form } from "../../../runs/outcome.ts";
import type { NodeRun, RunTrace } from "../../../runs/trace.ts";
import { loggedRun } from "../logs/index.ts";

/** A run on the dashboard. Times are in Unix seconds. */
export interface TopRun {
  readonly id: string;
  /** Its application, by its name in the profile. */
  readonly app?: string | undefined;
  readonly status: string;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Duration of an ended run. */
  readonly seconds: number | undefined;
  readonly error: string | undefined;
  /** End user, or the account's e-mail address. */
  readonly user: string | undefined;
  /** The end user who may read its events. */
  readonly endUser: string | undefined;
}

/** What the events of a run tell. */
export interface RunEvents {
  readonly trace: RunTrace;
  /** Open forms of a paused run. */
  readonly forms: readonly Form[];
  /** The node at which it failed, from an earlier command that followed it. */
  readonly failedNode?: string | undefined;
  /** Why its events cannot be read. */
  readonly problem?: string | undefined;
}

/** Everything that the dashboard shows. */
export interface TopState {
  /** The applications whose runs are shown, as far as they have names in the profile. */
  readonly apps?: readonly string[];
  /** Applications without a log, whose runs cannot be shown. */
  readonly unlogged?: readonly string[];
  readonly runs: readonly TopRun[];
  /** By run ID. */
  readonly events: ReadonlyMap<string, RunEvents>;
  /** Whether the log was read back to an hour ago; otherwise the figures are those of the newest runs. */
  readonly isWholeHour: boolean;
  /** Why the last request failed. */
  readonly problem: string | undefined;
}

/** Seconds. */
export const HOUR = 3600;

/** The run of a log row; undefined if it is purged. */
export function topRun(log: WorkflowLog, app?: string): TopRun | undefined {
  const { run: id, status, at, seconds, error, user } = loggedRun(log);
  if (id === undefined || at === undefined) return undefined;
  const endedAt = isEnded(status) ? (log.workflow_run?.finished_at ?? at) : undefined;
  const endUser = log.created_by_end_user?.session_id;
  return { id, app, status, startedAt: at, endedAt, seconds, error, user, endUser };
}

/** Whether the run has not ended. */
export const isActive = ({ endedAt }: TopRun): boolean => endedAt === undefined;

/** Statuses in the order of the dashboard: first what waits for someone. */
const shownStatuses = ["paused", "running", "scheduled", "failed"];

/** The runs to show: paused and running ones, and those that failed in the last hour, newest first. */
export function shownRuns({ runs }: TopState, now: number): readonly TopRun[] {
  const rank = ({ status }: TopRun) => shownStatuses.indexOf(status);
  return runs
    .filter((run) => rank(run) !== -1 && (run.endedAt ?? now) > now - HOUR)
    .toSorted((a, b) => rank(a) - rank(b) || newestFirst(a, b));
}

const newestFirst = (a: TopRun, b: TopRun) =>
  (b.endedAt ?? b.startedAt) - (a.endedAt ?? a.startedAt) || (a.id < b.id ? -1 : 1);

/** Figures of the runs that ended in the last hour; durations in seconds. */
export function hourFigures({ runs }: TopState, now: number) {
  const ended = runs.filter(({ endedAt }) => endedAt !== undefined && endedAt > now - HOUR);
  const seconds = Float64Array.from(ended.flatMap((run) => run.seconds ?? [])).sort();
  return {
    runs: ended.length,
    failed: ended.filter(({ status }) => status === "failed").length,
    p50: percentile(seconds, 50),
    p95: percentile(seconds, 95),
  };
}

/** The node at which a run is: the latest that runs, waits or failed. */
export function currentNode(events: RunEvents, status: string): string | undefined {
  const { trace, forms, failedNode } = events;
  if (status === "paused" && forms[0]?.node !== undefined) return forms[0].node;
  const isCurrent = (node: NodeRun) =>
    status === "failed" ? node.status === "failed" : node.finishedAt === undefined;
  return trace.nodes.findLast(isCurrent)?.title ?? failedNode;
}

/** What the person at the dashboard looks at. */
export interface TopView {
  /** ID of the selected run; the first one is selected if it is gone. */
  readonly selected: string | undefined;
  /** Whether the events of the selected run are shown instead of all runs. */
  readonly follows: boolean;
  /** Whether the keys are explained instead. */
  readonly keys?: boolean | undefined;
  /** The result of the last key. */
  readonly message?: string | undefined;
}

/** What a key asks for besides another view. */
export type TopAction = "quit" | "open" | "answer";

/** The selected run: one that is followed may have ended, so that it is not shown in the list. */
export const selectedRun = (view: TopView, state: TopState, now: number): TopRun | undefined => {
  const isSelected = ({ id }: TopRun) => id === view.selected;
  if (view.follows) return state.runs.find(isSelected);
  const runs = shownRuns(state, now);
  return runs[selectedIndex(view, runs)];
};

/** The view after a key, and the action that it starts. Unknown keys only remove the message. */
export function pressKey(
  key: string,
  view: TopView,
  runs: readonly TopRun[],
): { readonly view: TopView; readonly action?: TopAction } {
  const { selected, follows } = view;
  const same = { selected, follows };
  if (view.keys && key !== "resize") return { view: same };
  switch (key) {
    case "?":
      return { view: { ...same, keys: true } };
    case "up":
    case "k":
      return { view: moved(same, runs, -1) };
    case "down":
    case "j":
      return { view: moved(same, runs, 1) };
    case "f":
    case "return":
      return { view: { ...same, follows: runs.length > 0 } };
    case "q":
    case "escape":
      if (follows) return { view: { ...same, follows: false } };
      return key === "q" ? { view, action: "quit" } : { view: same };
    case "o":
    case "a": {
      const hasRun = follows || runs.length > 0;
      return { view: same, ...(hasRun && { action: key === "o" ? "open" : "answer" }) };
    }
    case "resize":
      return { view };
    default:
      return { view: same };
  }
}

/** The place of the selected run; 0 if it is gone. */
export const selectedIndex = ({ selected }: TopView, runs: readonly TopRun[]): number =>
  Math.max(
    0,
    runs.findIndex(({ id }) => id === selected),
  );

function moved(view: TopView, runs: readonly TopRun[], by: number): TopView {
  if (view.follows) return view;
  const index = Math.min(Math.max(0, selectedIndex(view, runs) + by), runs.length - 1);
  return { ...view, selected: runs[index]?.id };
}
