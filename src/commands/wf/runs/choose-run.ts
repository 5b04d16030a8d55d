import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, notFound, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../lib/json.ts";
import { NEWEST, shortened } from "../../../lib/text.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/outcome.ts";
import { askChoice } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { recordingPaths, recordOf, savedRuns } from "./run-state.ts";

/** A run that a command may take. */
export interface ListedRun {
  readonly id: string;
  readonly status: string;
  /** Unix seconds. */
  readonly startedAt: number;
  /** ms since 1970 when something about it was saved on this machine last; 0 if never. */
  readonly savedAt: number;
  /** Path of its recording on this machine. */
  readonly recording: string | undefined;
}

/** Runs of any kind, those that can be stopped, those whose nodes can be known, or any beside recordings. */
type RunKind = keyof typeof filters;

/** Which runs a command takes, and what it gets for a run; undefined if it cannot take it. */
const filters = {
  any: { one: "run", many: "runs", value: ({ id }: ListedRun) => id },
  running: {
    one: "running run",
    many: "running runs",
    value: ({ id, status }: ListedRun) => (isActive(status) ? id : undefined),
  },
  traced: {
    one: "run that is active or was recorded here",
    many: "runs that are active or were recorded here",
    value: placeOf,
  },
  compared: { one: "run", many: "runs", value: ({ id }: ListedRun) => id },
};

const isActive = (status: string): boolean => !isEnded(status) && status !== "paused";

/** The recording of a run whose nodes only that has, or its ID while it is active. */
async function placeOf({ id, status, recording }: ListedRun, { host }: Context) {
  if (!isEnded(status)) return id;
  const exists = recording !== undefined && (await host.files.stat(recording)) !== null;
  return exists ? recording : undefined;
}

/**
 * The value of an argument for a run: `last` is the newest run of the application of this kind, and
 * without a value a terminal is asked. Throws usage elsewhere, and not-found without such a run.
 */
export async function chooseRun(
  typed: unknown,
  { kind, command }: { readonly kind: RunKind; readonly command: string },
  context: Context,
): Promise<unknown> {
  const all = [typed].flat();
  if (typed !== undefined && !all.includes(NEWEST)) return typed;
  const { host, options, trace } = context;
  const mayBeFile = kind === "traced" || kind === "compared";
  if (mayBeFile && typed === NEWEST && (await host.files.stat(NEWEST))) return typed; // a recording
  const { one, many } = filters[kind];
  if (typed === undefined && !(options.terminal && options.input))
    throw usage(
      "which run? <run> is missing",
      `${commandLine(command, [NEWEST])} takes the newest ${one}; ${commandLine("wf logs")} lists all`,
    );
  const runs: TakenRun[] = [];
  for await (const run of takenRuns(kind, context)) {
    runs.push(run);
    if (runs.length === (typed === undefined ? MAX_CHOICES : 1)) break;
  }
  const [newest] = runs;
  if (!newest)
    throw notFound(
      `the application has no ${one}`,
      kind === "traced"
        ? `servers keep no nodes of ended runs; to record the next one: ${commandLine("wf run", [], { record: "FILE" })}`
        : `its runs: ${commandLine("wf logs")}`,
    );
  if (typed === undefined) return askForRun(runs, many, context);
  await trace(1, `${NEWEST} is ${newest.value}`);
  const values = all.map((each) => (each === NEWEST ? newest.value : each));
  return Array.isArray(typed) ? values : values[0];
}

/** A run with what a command gets for it. */
export interface TakenRun {
  readonly run: ListedRun;
  readonly value: string;
}

/** The runs of the application that a command takes, newest first. */
export async function* takenRuns(kind: RunKind, context: Context): AsyncGenerator<TakenRun> {
  for await (const run of newestRuns(context)) {
    const value = await filters[kind].value(run, context);
    if (value !== undefined) yield { run, value };
  }
}

/**
 * The runs of the application, newest first: the newest page of its log, or, as chats have none (server
 * §12), those of its runs that were followed on this machine. Of runs that started in the same second,
 * those come first that were followed here last: the log has no finer times.
 */
async function* newestRuns(context: Context): AsyncGenerator<ListedRun> {
  const saved = await savedRuns(context);
  const pathsOf = await recordingPaths(context);
  const logs = await context.api.call(listWorkflowLogs, {});
  const runs = logs.flatMap(({ workflow_run: run, created_at }): ListedRun[] => {
    if (!run) return [];
    const { id, status } = run;
    const { savedAt } = saved.get(id) ?? {};
    const [recording] = pathsOf(id);
    const startedAt = run.created_at ?? created_at;
    return [
      { id, status: status ?? "unknown", startedAt, savedAt: savedAt?.getTime() ?? 0, recording },
    ];
  });
  yield* runs.toSorted((a, b) => b.startedAt - a.startedAt || b.savedAt - a.savedAt);
  if (logs.length > 0) return;
  for (const [id, { savedAt }] of saved) {
    const record = await recordOf(id, context);
    if (!record) continue;
    const at = savedAt.getTime();
    const startedAt = Math.floor(at / 1000);
    yield { id, status: record.status, startedAt, savedAt: at, recording: pathsOf(id)[0] };
  }
}

/** Runs to choose from. */
const MAX_CHOICES = 10;

/** Asks which run is meant: each with its time, status and first input. */
async function askForRun(
  taken: readonly TakenRun[],
  noun: string,
  context: Context,
): Promise<string> {
  const { api, options, promptLine } = context;
  const width = Math.max(...taken.map(({ run }) => run.status.length));
  const reading = mapConcurrent(taken, api.limitConcurrency(), async ({ run, value }) => {
    const input = await firstInput(run.id, context);
    const time = options.timeText(new Date(run.startedAt * 1000));
    const parts = [time, run.status.padEnd(width), run.id.slice(0, 8), input];
    return { label: parts.join("  ").trimEnd(), names: [run.id], value };
  });
  const choices = [];
  for await (const choice of reading) choices.push(choice);
  await promptLine(`The newest ${noun}:`);
  return askChoice("Run", choices, context);
}

/** `query=hello`; empty without inputs, or if the record cannot be read. */
async function firstInput(id: string, context: Context): Promise<string> {
  const record = await recordOf(id, context).catch((error: unknown) => {
    if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
    return undefined;
  });
  const [first] = Object.entries(record ? inputsIn(record).own : {});
  return first ? shownInput(first) : "";
}

type Values = Readonly<Record<string, unknown>>;

/** The inputs of a run: those of its application, and those that the server added (server §13). */
export interface RunInputs {
  readonly own: Values;
  /** Without `sys.` in their names. */
  readonly system: Values;
}

/** Reads the inputs in the record of a run; empty if it has none that can be read. */
export function inputsIn({ inputs }: WorkflowRun): RunInputs {
  const values: unknown = typeof inputs === "string" ? tryParseJson(inputs) : inputs;
  const entries = Object.entries(isObject(values) ? values : {});
  return {
    own: Object.fromEntries(entries.filter(([name]) => !name.startsWith(SYSTEM))),
    system: Object.fromEntries(
      entries.flatMap(([name, value]) =>
        name.startsWith(SYSTEM) ? [[name.slice(SYSTEM.length), value]] : [],
      ),
    ),
  };
}

/** How the names of inputs begin that the server added. */
const SYSTEM = "sys.";

/** Characters of an input where it is one of several things in a line. */
const MAX_INPUT = 40;

/** An input as one line shows it: `query=hello`. */
export const shownInput = ([name, value]: readonly [string, unknown]): string =>
  shortened(`${name}=${typeof value === "string" ? value : stringifyJson(value)}`, MAX_INPUT);
