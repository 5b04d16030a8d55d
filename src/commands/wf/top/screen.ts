import { clockTime, formatDuration, formatSeconds } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { left, right, noTable } from "../../../output/report-model.ts";
import type { Cell, Report, Section, TextPart } from "../../../output/report-model.ts";
import type { NodeRun } from "../../../runs/trace.ts";
import { selectedIndex, selectedRun, currentNode, hourFigures, shownRuns } from "./state.ts";
import type { TopView, RunEvents, TopRun, TopState } from "./state.ts";

/** When and where the dashboard is shown. */
export interface TopPlace {
  readonly now: Date;
  /** Rows for runs or nodes. */
  readonly rows: number;
}

/** The dashboard on a screen: figures, runs or the events of one, and the keys. */
export function topScreen(state: TopState, view: TopView, place: TopPlace): Report {
  const second = secondOf(place);
  const runs = shownRuns(state, second);
  const followed = view.follows ? selectedRun(view, state, second) : undefined;
  const body = () =>
    followed === undefined
      ? runsSection(runs, state, { ...place, index: selectedIndex(view, runs) })
      : followSection(followed, state.events.get(followed.id), place);
  return {
    data: dataOf(state, second),
    sections: [
      { ...noTable, lines: [{ parts: headParts(state, second) }] },
      view.keys ? keySection : body(),
      footSection(view, followed !== undefined),
    ],
    isFrame: true,
  };
}

/** The dashboard as plain text below a time. */
export function topText(state: TopState, time: string, place: TopPlace): Report {
  const second = secondOf(place);
  const parts = [time, ...headParts(state, second).map(({ text }) => text)];
  const section = runsSection(shownRuns(state, second), state, place);
  return {
    data: dataOf(state, second),
    sections: [{ ...section, title: parts.join(", ") }],
  };
}

const secondOf = ({ now }: TopPlace): number => Math.floor(now.getTime() / 1000);

const dataOf = (state: TopState, second: number) => ({
  at: second,
  apps: state.apps ?? [],
  last_hour: hourFigures(state, second),
  runs: shownRuns(state, second).map((run) => runData(run, state.events.get(run.id))),
});

const runData = (run: TopRun, events: RunEvents | undefined) => ({
  run: run.id,
  app: run.app ?? null,
  status: run.status,
  started_at: run.startedAt,
  finished_at: run.endedAt ?? null,
  node: (events && currentNode(events, run.status)) ?? null,
  error: run.error ?? null,
  user: run.user ?? null,
  forms: events?.forms.map(({ token, node = null }) => ({ token, node })) ?? [],
});

/** The number of open forms: a lower limit until the events of each paused run were read. */
function waitingForms({ runs, events }: TopState): string | undefined {
  const paused = runs.filter(({ status }) => status === "paused").map(({ id }) => events.get(id));
  const forms = paused.reduce((sum, each) => sum + (each?.forms.length ?? 0), 0);
  const isRead = paused.every((each) => each?.trace.status === "paused" || each?.forms.length);
  if (forms === 0) return isRead ? undefined : "forms not read yet";
  return `${isRead ? "" : "at least "}${counted(forms, "form")} waiting`;
}

function headParts(state: TopState, second: number): TextPart[] {
  const forms = waitingForms(state);
  const { runs, failed, p50, p95 } = hourFigures(state, second);
  const isAll = state.isWholeHour;
  const { apps = [], unlogged = [] } = state;
  const parts: (TextPart | false)[] = [
    apps.length > 0 && { text: firstNames(apps, MAX_APPS) },
    { text: `${counted(runs, "run")} ended in the last hour${isAll ? "" : " (newest only)"}` },
    failed > 0 && { text: `${failed} failed`, tone: "bad" },
    p50 !== null && { text: `p50 ${formatSeconds(p50)}` },
    p95 !== null && { text: `p95 ${formatSeconds(p95)}` },
    forms !== undefined && { text: forms, tone: "warn" },
    unlogged.length > 0 && {
      text: `not shown, because only workflows have logs: ${firstNames(unlogged, MAX_APPS)}`,
      tone: "dim",
    },
    state.problem !== undefined && { text: state.problem, tone: "bad" },
  ];
  return parts.filter((part) => part !== false);
}

/** Names of applications above the runs. */
const MAX_APPS = 5;

/** The runs around the one at `index`, which is marked; none is without it. */
function runsSection(
  runs: readonly TopRun[],
  { events, apps = [] }: TopState,
  { index, ...place }: TopPlace & { readonly index?: number },
): Section {
  if (runs.length === 0) {
    return { ...noTable, notes: ["no run is running, paused, or failed in the last hour"] };
  }
  const { rows } = place;
  const second = secondOf(place);
  const first = Math.max(0, Math.min((index ?? 0) - Math.floor(rows / 2), runs.length - rows));
  const shown = runs.slice(first, first + rows);
  const hidden = runs.length - shown.length;
  return {
    columns: [
      ...(index === undefined ? [] : [left("")]),
      left("status"),
      ...(apps.length > 1 ? [left("app")] : []),
      right("time"),
      left("node"),
      left("detail"),
      left("by"),
      left("run"),
    ],
    rows: shown.map((run): Cell[] => {
      const known = events.get(run.id);
      return [
        ...(index === undefined ? [] : [run === runs[index] ? ">" : " "]),
        run.status,
        ...(apps.length > 1 ? [run.app ?? null] : []),
        timeOf(run, second),
        (known && currentNode(known, run.status)) ?? null,
        detailOf(run, known),
        run.user ?? null,
        run.id.slice(0, 8),
      ];
    }),
    ...(hidden > 0 && { notes: [`${hidden} more`] }),
  };
}

/** How long it has run; how long ago it ended. */
const timeOf = ({ startedAt, endedAt }: TopRun, second: number): string =>
  endedAt === undefined
    ? clockTime(Math.max(0, second - startedAt))
    : `${clockTime(Math.max(0, second - endedAt))} ago`;

function detailOf(run: TopRun, events: RunEvents | undefined): string | null {
  if (run.status === "paused") {
    const [form] = events?.forms ?? [];
    if (form) return `form: ${form.actions.join(", ")}`;
  }
  return run.error ?? events?.problem ?? null;
}

/** The latest nodes of a run, and the end of its text. */
function followSection(
  run: TopRun,
  events: RunEvents | undefined,
  { now, rows }: TopPlace,
): Section {
  const title = `Run ${run.id} ${run.status}`;
  if (events === undefined || events.trace.nodes.length === 0) {
    const why =
      events?.problem ?? (run.endedAt === undefined ? "waiting for its events" : run.error);
    return { ...noTable, title, notes: [why ?? "the server has no events of an ended run"] };
  }
  const { nodes, text } = events.trace;
  const tail = text.trimEnd().slice(-MAX_TEXT);
  return {
    title,
    columns: [left("status"), right("took"), left("node"), left("error")],
    rows: nodes.slice(-Math.max(1, rows - 3)).map((node) => nodeCells(node, now)),
    notes: tail === "" ? [] : [tail],
  };
}

/** Characters of the end of a text. */
const MAX_TEXT = 70;

function nodeCells(node: NodeRun, now: Date): Cell[] {
  const { status, createdAt, startedAt, finishedAt, elapsed, title, within, error } = node;
  const end = finishedAt ?? now.getTime();
  const took = elapsed === undefined ? end - (createdAt ?? startedAt) : elapsed * 1000;
  return [
    status,
    finishedAt === undefined ? clockTime(Math.max(0, took) / 1000) : formatDuration(took),
    within === undefined ? title : `#${within.round} ${title}`,
    error ?? null,
  ];
}

const footSection = ({ message, keys }: TopView, follows: boolean): Section => {
  const shown = follows ? followKeys : listKeys;
  const dim = (keys ? ["any key closes this"] : shown).map((text): TextPart => ({
    text,
    tone: "dim",
  }));
  return { ...noTable, lines: [{ parts: message === undefined ? dim : [{ text: message }] }] };
};

const listKeys = ["up/down select", "f follow", "a answer", "o open", "? keys", "q quit"];
const followKeys = ["q back", "a answer", "o open", "? keys"];

const keySection: Section = {
  title: "Keys",
  columns: [left("key"), left("what it does")],
  rows: [
    ["up, down, k, j", "select a run"],
    ["f, Enter", "follow the events of the run"],
    ["a", "answer the form that the run waits for"],
    ["o", "open the page of the run in the web console"],
    ["q, Escape", "back to the list; q there quits"],
    ["Ctrl-C", "quit"],
  ],
};
