import { join } from "node:path";
import type { CallOptions } from "../../../api/calls.ts";
import { outdatedNotice, stateOfRun, waitForRun } from "../../../follow/run-state.ts";
import type { Following, RunState, WaitInput } from "../../../follow/run-state.ts";
import { CliError } from "../../../errors.ts";
import { rememberedRuns } from "../../../host/remembered-runs.ts";
import { groupBy } from "../../../lib/collect.ts";
import { getWorkflowRun } from "../../../operations/workflows.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import { isEnded, raiseOutcome } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { attempt, isObject, tryParseJson, stringifyJson } from "../../../lib/json.ts";

/** `wf wait`: waits for the end of a run or a pause, yields its record, and throws its outcome. */
export const runWait = {
  async *run(input: WaitInput, context: Context): AsyncGenerator<WorkflowRun> {
    const { workflow_run_id } = input;
    const state = await waitForRun(input, following(context));
    if (state.outdated) await context.notice(outdatedNotice(workflow_run_id, state));
    yield shownRecord(state, context);
    await raiseOutcome(workflow_run_id, state, context.notice);
  },
};

/** The record of a run; undefined if the application has none: of a purged run, or that of another one. */
export const recordOf = (
  workflow_run_id: string,
  { api }: Context,
): Promise<WorkflowRun | undefined> =>
  api.call(getWorkflowRun, { workflow_run_id }).catch((error: unknown) => {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  });

/** Reads the state of a run; an end that this machine saw counts. */
export const readRunState = (
  run: string,
  context: Context,
  options?: CallOptions,
): Promise<RunState> => stateOfRun(run, following(context), options);

/** The record of a run; a terminal gets the time since its start while the server has none. */
export function shownRecord({ record, status }: RunState, context: Context): WorkflowRun {
  const { terminal, format } = context.options;
  const started: unknown = record.created_at; // any field may be missing
  if (isEnded(status) || !terminal || format !== undefined || typeof started !== "number")
    return record;
  const elapsed_time = Math.max(0, context.host.now().getTime() / 1000 - started);
  return { ...record, elapsed_time };
}

/** A command as one that follows runs. */
export const following = (context: Context): Following => ({
  api: context.api,
  signal: context.host.signal,
  host: context.host,
  notice: (text) => context.notice(text),
  trace: (level, text) => context.trace(level, text),
  pause: (ms) => context.pause(ms),
  hasTimeout: context.options.flags.timeout !== undefined,
  seenEnd: async (run) => (await loadRun(run, context)).end,
});

/** Number of files to keep, about two a run: its start and its end. Older ones are deleted. */
const MAX_FILES = 400;

/** Facts about a run that only its event stream has (server §13). */
interface SavedRun {
  /** The task ID: a run can be stopped only by its task. */
  readonly task?: string | undefined;
  /** The end of a stopped run, whose record may show `running` forever. */
  readonly end?: Pick<RunOutcome, "status" | "error"> | undefined;
  /** The nodes at which it failed: the server has no nodes of an ended run (server §15.3). */
  readonly failures?: readonly NodeFailure[] | undefined;
  /** Absolute path of a recording. */
  readonly recording?: string | undefined;
  /** Whether it was paused when it was last followed: runs of chats are in no log (server §12). */
  readonly paused?: boolean | undefined;
  /** Tokens of the forms of its last pause: a form does not tell its run (server §14). */
  readonly forms?: readonly string[] | undefined;
  /** How it ended, if it was followed to its end. */
  readonly status?: string | undefined;
  readonly base_url: string;
}

/** A node that failed, by its title, and why. */
export interface NodeFailure {
  readonly node: string;
  readonly error: string;
}

/** One file per run, so that runs saved at the same time do not overwrite each other. */
const directoryOf = ({ host }: Context) => join(host.directories.state, "runs");

/** Saves facts about a run, beside those in its file. A directory that is not writable is not an error. */
export async function saveRun(
  run: string,
  facts: Omit<SavedRun, "base_url">,
  context: Context,
): Promise<void> {
  try {
    const { files, now } = context.host;
    const directory = directoryOf(context);
    await files.makeDirectory(directory, 0o700);
    const { names, saved, base_url } = await load(run, context);
    const merged: SavedRun = { ...saved, ...facts, base_url };
    if (saved && stringifyJson(merged) === stringifyJson(saved)) return;
    const path = join(directory, `${now().getTime()}${suffixOf(run)}`);
    await files.writeAtomic(path, `${stringifyJson(merged)}\n`, 0o600);
    // Another process may remove the same files.
    for (const old of names.slice(MAX_FILES - 1)) await files.remove(join(directory, old));
  } catch (error) {
    await context.trace(1, `failed to save the run: ${String(error)}`);
  }
}

/** What this machine knows about a run that was started or followed on it. */
export const loadRun = (run: string, context: Context): Promise<Partial<SavedRun>> =>
  load(run, context).then(
    ({ saved = {} }) => saved,
    () => ({}),
  );

/** Returns the IDs of the runs on this server that were paused when they were last followed here. */
export const pausedRuns = async (context: Context): Promise<readonly string[]> =>
  [...(await savedRuns(context))].flatMap(([id, { paused }]) => (paused === true ? [id] : []));

/** The run that waits for a form, if it was followed on this machine. */
export const runOfForm = async (token: string, context: Context): Promise<string | undefined> =>
  [...(await savedRuns(context))].find(([, { forms = [] }]) => forms.includes(token))?.[0];

/** The saved runs of this server by ID, newest first: a run that was saved again has several files. */
export async function savedRuns(context: Context) {
  const base_url = await context.api.baseUrl();
  const directory = directoryOf(context);
  /** With the time at which something about a run was saved last. */
  const runs = new Map<string, SavedRun & { readonly savedAt: Date }>();
  for (const name of await listedFiles(context)) {
    const id = attempt(() => decodeURIComponent(name.replace(/^\d+-|\.json$/g, "")));
    if (id === undefined || runs.has(id)) continue;
    const saved = await readSaved(join(directory, name), context);
    if (saved?.base_url !== base_url) continue;
    runs.set(id, { ...saved, savedAt: new Date(Number.parseInt(name, 10)) });
  }
  return runs;
}

/** Paths of the recordings of a run on this machine: those that are remembered, newest first, and that of --record. */
export async function recordingPaths(context: Context) {
  const saved = await savedRuns(context);
  const remembered = groupBy(await rememberedRuns(context.host), ({ run }) => run);
  return (run: string): readonly string[] => {
    const paths = (remembered.get(encodeURIComponent(run)) ?? []).map(({ path }) => path);
    return [...paths.toReversed(), saved.get(run)?.recording ?? []].flat();
  };
}

/** Names of the files of runs, newest first; empty if none was saved. */
const listedFiles = async (context: Context): Promise<readonly string[]> =>
  (await context.host.files.list(directoryOf(context)).catch(() => []))
    .filter((name) => name.endsWith(".json"))
    .reverse();

/** The content of the file of a run, as this program wrote it; undefined for a damaged file. */
async function readSaved(path: string, { host }: Context): Promise<SavedRun | undefined> {
  const bytes = await host.files.read(path).catch(() => undefined);
  const value = tryParseJson(new TextDecoder().decode(bytes));
  return isObject(value) ? (value as unknown as SavedRun) : undefined;
}

/** Files of one run that are read, the newest: a run that is followed often has many. */
const MAX_READ = 3;

/** End of a file name, after the time. Run IDs may hold any character; throws on invalid Unicode. */
const suffixOf = (run: string) => `-${encodeURIComponent(run)}.json`;

/**
 * Loads a run if it belongs to the current server, and the names of all files, newest first. A fact is
 * that of the newest file with it: one that cannot be read does not hide the others.
 */
async function load(run: string, context: Context) {
  const base_url = await context.api.baseUrl();
  const names = await listedFiles(context);
  let saved: Partial<SavedRun> | undefined;
  const ofRun = names.filter((each) => each.replace(/^\d+/, "") === suffixOf(run));
  for (const name of ofRun.slice(0, MAX_READ)) {
    const earlier = await readSaved(join(directoryOf(context), name), context);
    if (earlier?.base_url === base_url) saved = { ...earlier, ...saved };
  }
  return { names, base_url, saved };
}
